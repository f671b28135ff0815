/** What a request carries on its way through the app. */
import type { IncomingHead } from "./listen.ts";

export interface AppEnv {
  Bindings: {
    /** Only under our own listener: what the request's own text said. */
    readonly connection?: { request(): IncomingHead };
  };
  Variables: {
    request_id: string;
    /** The JSON text of a POST, read and checked. */
    body_text: string;
    /** False: this answer is not to be given to the same request sent again. */
    keep_answer?: boolean;
  };
}
