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
    readonly status: string;
    readonly text?: string;
    /** The call during which a tool said it, and the whole of what it sent. */
    readonly call?: string;
    readonly sent?: { readonly type: string; readonly data: unknown; readonly timestamp: string };
  };
