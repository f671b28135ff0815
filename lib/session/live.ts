/** What only those who watch now can see: no `seq`, never stored; a durable event replaces it. */
export type LiveEvent =
  | { readonly type: "text_delta"; readonly session: string; readonly step: number; readonly attempt: number; readonly text: string }
  | { readonly type: "reasoning_delta"; readonly session: string; readonly step: number; readonly attempt: number; readonly text: string }
  | {
    readonly type: "call_output";
    readonly session: string;
    readonly call: string;
    readonly stream: "stdout" | "stderr";
    readonly text: string;
  }
  | {
    readonly type: "status";
    readonly session: string;
    /**
     * `call_announced`: the model has begun to write a call of the tool `text`. `superseded`: the attempt has failed, and
     * what was told of it does not count. Others come from tools.
     */
    readonly status: string;
    readonly step?: number;
    readonly attempt?: number;
    readonly text?: string;
    /** The call during which a tool said it, and the whole of what it sent. */
    readonly call?: string;
    readonly sent?: { readonly type: string; readonly data: unknown; readonly timestamp: string };
  };
