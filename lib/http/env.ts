/** What a request carries on its way through the app. */
import type { IncomingHead } from "./exchange.ts";

export interface AppEnv {
  Bindings: {
    /** Only under our own listener: what the request's own text said. */
    readonly connection?: { request(): IncomingHead };
  };
  Variables: {
    request_id: string;
    /** The JSON object of a POST: well-formed, and not yet looked at by its route. */
    body: object;
    /** False: this answer is not to be given to the same request sent again. */
    keep_answer?: boolean;
  };
}
