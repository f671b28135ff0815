/** The page: who looks, which session, and the parts that stay while sessions come and go. */
import { Api, messageOf } from "./api.ts";
import { Conversation } from "./conversation.ts";
import { part, setText } from "./dom.ts";
import { SessionView } from "./session-view.ts";
import { Sidebar } from "./sidebar.ts";
import { exchange, SignIn, Tabs, takeLoginCode } from "./sign-in.ts";
import { Timeline } from "./timeline.ts";

const READDRESS_MS = 200;

const api = new Api();
const tabs = new Tabs(api);
const signIn = new SignIn(api, () => show());
const sidebar = new Sidebar(api, { list: part("sessions"), more: part<HTMLButtonElement>("more-sessions"), word: part("sessions-word") });
const conversation = new Conversation({
  list: part("conversation"),
  earlier: part<HTMLButtonElement>("earlier"),
  scroller: part("scroller"),
}, (seq) => view?.look(seq));
const timeline = new Timeline({
  scroller: part("timeline-scroller"),
  plane: part("timeline-plane"),
  rows: part("timeline-rows"),
  needle: part("timeline-needle"),
  axis: part("timeline-axis"),
  hint: part("timeline-hint"),
  saved: part("timeline-saved"),
  choice: part<HTMLSelectElement>("timeline-choice"),
  wider: part<HTMLButtonElement>("wider"),
  narrower: part<HTMLButtonElement>("narrower"),
}, (span) => conversation.reveal(span));
let view: SessionView | null = null;
let shown = "";
let readdressing: ReturnType<typeof setTimeout> | undefined;

api.onSignedOut = () => {
  leave();
  sidebar.stop();
  signIn.show("The server does not know this browser (any more). Open the new link that orrery serve printed, or give its token.");
};
part("new-session").addEventListener("click", () => void create());
part("skip").addEventListener("click", () => part("scroller").focus());
part("about").addEventListener("click", () => {
  const shown = part("about").getAttribute("aria-expanded") !== "true";
  part("about").setAttribute("aria-expanded", String(shown));
  part("session").toggleAttribute("data-about", shown);
});
addEventListener("hashchange", () => {
  const code = takeLoginCode();
  if (code !== null) void enter(code);
  else if (api.token !== null) route();
});
await enter(takeLoginCode());

async function enter(code: string | null): Promise<void> {
  const problem = code === null ? null : await exchange(api, code);
  // A link that was used before is no reason to sign out, or not to ask the other tabs.
  if (api.token === null) await tabs.ask();
  if (api.token === null) signIn.show(problem ?? "");
  else show();
}

function show(): void {
  part("sign-in").hidden = true;
  part("app").hidden = false;
  void sidebar.look();
  route();
}

/** `#ses_…` is a session, `#ses_…@7` its event 7. */
function route(): void {
  const [, session = "", at] = /^#(ses_[0-9a-f-]{36})(?:@(\d{1,15}))?$/.exec(location.hash) ?? [];
  const seq = at === undefined ? null : Number(at);
  if (session === shown && view !== null) return view.look(seq);
  leave();
  part("app").dataset["session"] = session;
  part("session").hidden = session === "";
  part("nothing").hidden = session !== "";
  sidebar.select(session);
  if (session === "") return void (document.title = "Orrery");
  shown = session;
  view = new SessionView(api, { session, at: seq }, {
    timeline,
    conversation,
    moved: (to) => readdress(`#${session}${to === null ? "" : `@${to}`}`),
    open: (id) => void (location.hash = id),
    changed: () => void sidebar.look(),
    say,
  });
  void view.run();
  part("title").focus({ preventScroll: true });
}

/** Browsers take only so many addresses in a time: where the reader rests is what counts. */
function readdress(hash: string): void {
  clearTimeout(readdressing);
  readdressing = setTimeout(() => history.replaceState(null, "", hash), READDRESS_MS);
}

function leave(): void {
  clearTimeout(readdressing);
  view?.close();
  view = null;
  shown = "";
}

async function create(): Promise<void> {
  try {
    const { session } = await api.post<{ readonly session: string }>("v1/sessions", {});
    location.hash = session;
    void sidebar.look();
    part("prompt").focus();
  } catch (error) {
    setText(part("sessions-word"), messageOf(error));
  }
}

/** For those who do not see the page. */
function say(text: string): void {
  setText(part("spoken"), "");
  setText(part("spoken"), text);
}
