/** @jsxImportSource hono/jsx */
/**
 * The viewer's one document, without anything of a session in it: who may see those has a token, and a browser that
 * opens an address sends none. The script fills it in.
 */
import { raw } from "hono/html";
import { Mode } from "../../session/outcome.ts";

export interface PageParts {
  readonly style: string;
  readonly script: string;
}

const ICON = "data:image/svg+xml," + encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><g fill="none" stroke="#5b6fd6" stroke-width="2"><circle cx="16" cy="16" r="12"/>' +
    '<circle cx="16" cy="16" r="6"/></g><circle cx="16" cy="16" r="2.5" fill="#5b6fd6"/><circle cx="26" cy="9.5" r="3" fill="#1f9d8b"/></svg>',
);

export function renderPage({ style, script }: PageParts): string {
  return `<!doctype html>${(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>Orrery</title>
        <link rel="icon" href={ICON} />
        <style>{raw(style)}</style>
      </head>
      <body>
        <noscript>
          <p class="noscript">This page needs its script to show what happens as it happens. Everything it shows is in the HTTP API too.</p>
        </noscript>
        <SignIn />
        <div id="app" hidden>
          <button id="skip" type="button" class="plain skip">Skip to the conversation</button>
          <Sessions />
          <main id="session" hidden>
            <Head />
            <Timeline />
            <Player />
            <div class="columns">
              <Conversation />
              <Facts />
            </div>
            <Foot />
          </main>
          <main id="nothing">
            <p>Choose a session, or begin one.</p>
          </main>
        </div>
        <p id="spoken" class="unseen" role="status"></p>
        <script type="module">{raw(script)}</script>
      </body>
    </html>
  )}`;
}

function SignIn() {
  return (
    <main id="sign-in" hidden>
      <form id="sign-in-form" class="card">
        <Mark />
        <h1>Sign in</h1>
        <p>
          Open the link that <code>orrery serve</code>{" "}
          printed when it started. It signs one browser in, once. Or give the server's token, the text of its token file:
        </p>
        <label for="token">Token</label>
        <input id="token" type="password" name="token" autocomplete="off" spellcheck={false} required />
        <button type="submit" class="primary">Sign in</button>
        <p id="sign-in-word" class="error" role="alert"></p>
      </form>
    </main>
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <circle class="orbit" cx="16" cy="16" r="12" />
      <circle class="orbit" cx="16" cy="16" r="6" />
      <circle class="sun" cx="16" cy="16" r="2.5" />
      <circle class="planet" cx="26" cy="9.5" r="3" />
    </svg>
  );
}

function Sessions() {
  return (
    <nav id="side" aria-label="Sessions">
      <header>
        <Mark />
        <strong>Orrery</strong>
        <button id="new-session" type="button" class="plain">New session</button>
      </header>
      <ul id="sessions"></ul>
      <p id="sessions-word" class="quiet"></p>
      <button id="more-sessions" type="button" class="link" hidden>Older sessions</button>
    </nav>
  );
}

function Head() {
  return (
    <header id="head">
      <a class="back" href="#" aria-label="All sessions">
        <span aria-hidden="true">‹</span>
      </a>
      <h1 id="title" tabindex={-1} dir="auto"></h1>
      <span id="status" class="pill"></span>
      <span id="link"></span>
      <span class="actions">
        <button id="resume" type="button" class="primary" hidden>Resume</button>
        <button id="stop" type="button" class="plain" hidden>Stop</button>
        <button id="fork" type="button" class="plain">Fork</button>
        <button id="about" type="button" class="plain" aria-expanded="false" aria-controls="aside">Details</button>
      </span>
    </header>
  );
}

function Timeline() {
  return (
    <section id="timeline" aria-labelledby="timeline-title">
      <header>
        <h2 id="timeline-title">Timeline</h2>
        <span id="timeline-saved" class="saved"></span>
        <span class="tools">
          <select id="timeline-choice" aria-label="Part of the session"></select>
          <button id="narrower" type="button" class="icon" aria-label="Zoom out" disabled>−</button>
          <button id="wider" type="button" class="icon" aria-label="Zoom in">+</button>
        </span>
      </header>
      <div id="timeline-scroller">
        <div id="timeline-plane">
          <div id="timeline-rows"></div>
          <div id="timeline-axis" aria-hidden="true"></div>
          <div class="over" aria-hidden="true">
            <div id="timeline-needle" hidden></div>
          </div>
        </div>
      </div>
      <p class="under">
        <span id="timeline-hint"></span>
        <span class="legend" aria-hidden="true">
          <i class="bar model"></i> model <i class="bar early" data-tone="used"></i> early, used{" "}
          <i class="bar early" data-tone="unused"></i> not used <i class="bar call"></i> call <i class="bar call" data-tone="bad"></i>{" "}
          failed
        </span>
      </p>
    </section>
  );
}

function Player() {
  return (
    <section id="player" aria-label="Replay">
      <button id="play" type="button" class="plain">Play</button>
      <button id="back" type="button" class="icon" aria-label="One event back">‹</button>
      <input id="slider" type="range" min="1" max="1" step="1" aria-label="Event" />
      <button id="on" type="button" class="icon" aria-label="One event on">›</button>
      <span id="where"></span>
      <button id="live" type="button" class="plain" hidden>Live</button>
    </section>
  );
}

function Conversation() {
  return (
    <section id="scroller" tabindex={-1} aria-label="Conversation">
      <p id="progress" class="quiet" role="status" hidden></p>
      <button id="earlier" type="button" class="link" hidden></button>
      <ol id="conversation"></ol>
    </section>
  );
}

function Facts() {
  return (
    <aside id="aside" aria-label="About the session">
      <section id="tasks" hidden>
        <h2>Tasks</h2>
        <ul id="task-list"></ul>
      </section>
      <section id="scratch" hidden>
        <h2>Scratch keys</h2>
        <ul id="scratch-list"></ul>
      </section>
      <section>
        <h2>Session</h2>
        <form id="mode-form">
          <label for="mode">Mode</label>
          <span>
            <select id="mode">{Mode.options.map((mode) => <option key={mode} value={mode}>{mode}</option>)}</select>
            <button id="change-mode" type="submit" class="plain" disabled>Change</button>
          </span>
          <p id="mode-word" class="error" role="alert"></p>
        </form>
        <dl id="facts"></dl>
      </section>
    </aside>
  );
}

function Foot() {
  return (
    <footer id="foot">
      <button id="to-end" type="button" class="plain" hidden>Newest ↓</button>
      <section id="approvals" aria-label="Calls that wait for an answer" hidden></section>
      <ul id="queued" aria-label="Prompts that wait" hidden></ul>
      <form id="composer">
        <textarea id="prompt" rows={1} aria-label="Prompt" placeholder="Say what to do" title="Enter sends, Shift+Enter breaks the line">
        </textarea>
        <button id="send" type="submit" class="primary" disabled>Send</button>
      </form>
      <div id="past" hidden>
        <span id="past-word"></span>
        <button id="fork-here" type="button" class="plain">Fork from here</button>
        <button id="to-live" type="button" class="primary">Back to now</button>
      </div>
      <p id="composer-word" class="error" role="alert"></p>
    </footer>
  );
}
