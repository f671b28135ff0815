/**
 * What only those who watch now can see: no `seq`, never stored; a durable event replaces it.
 *
 * Who joins, or was too slow, is told what is live by then. The first event of each part of that has `whole`: it replaces
 * whatever a reader has of the same attempt's text, reasoning or announced calls, or of the same call's output or status;
 * those behind it go on from there. Its `omitted` is how much is missing before it, in UTF-16 code units.
 */
export type LiveEvent =
  | {
    readonly type: "text_delta" | "reasoning_delta";
    readonly session: string;
    readonly step: number;
    readonly attempt: number;
    readonly text: string;
    readonly whole?: true;
    readonly omitted?: number;
  }
  | {
    readonly type: "call_output";
    readonly session: string;
    readonly call: string;
    readonly stream: "stdout" | "stderr";
    readonly text: string;
    readonly whole?: true;
    readonly omitted?: number;
  }
  | {
    readonly type: "status";
    readonly session: string;
    /**
     * `call_announced`: the model has begun to write a call of the tool `text`. `superseded`: the attempt has failed or
     * begins anew, and what was told of it so far does not count. Others come from tools.
     */
    readonly status: string;
    readonly step?: number;
    readonly attempt?: number;
    readonly text?: string;
    /** The call during which a tool said it, and the whole of what it sent. */
    readonly call?: string;
    readonly sent?: { readonly type: string; readonly data: unknown; readonly timestamp: string };
    readonly whole?: true;
  };
