/** Colours follow `color-scheme` of the page, or the attribute `theme`. */
const css = `
:host {
  --_accent: var(--plinth-inbox-accent, light-dark(#1d4ed8, #9db8ff));
  --_background: var(--plinth-inbox-background, light-dark(#fff, #1b1e24));
  --_text: var(--plinth-inbox-text, light-dark(#1a1d21, #eceef1));
  --_muted: var(--plinth-inbox-muted, light-dark(#565d67, #a9b1bc));
  --_border: var(--plinth-inbox-border, light-dark(#d9dde3, #3a404a));
  --_hover: var(--plinth-inbox-hover, light-dark(#f1f4f9, #272c35));
  --_badge: var(--plinth-inbox-badge, #b42318);
  --_badge-text: var(--plinth-inbox-badge-text, #fff);
  --_radius: var(--plinth-inbox-radius, 10px);
  display: inline-block;
  position: relative;
  font: var(--plinth-inbox-font, 14px/1.45 system-ui, sans-serif);
  color: var(--_text);
  text-align: start;
}
:host([hidden]) { display: none }
:host([theme=light]) { color-scheme: light }
:host([theme=dark]) { color-scheme: dark }
:host([mode=inline]) { display: block }
* { box-sizing: border-box }
[hidden] { display: none !important }
h2, h3, p, ul, fieldset { margin: 0; padding: 0; border: 0 }
ul { list-style: none }
button, input { font: inherit; color: inherit }
button { cursor: pointer; border: 1px solid transparent; border-radius: 6px; background: none; padding: 4px 8px }
button:hover { background: var(--_hover) }
button:disabled { opacity: .5; cursor: default }
:focus-visible { outline: 2px solid var(--_accent); outline-offset: -2px }
h2:focus { outline: none }
.icon { display: block; width: 20px; height: 20px; fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round }
.plain { display: grid; place-items: center; min-width: 32px; min-height: 32px; padding: 5px }
.plain[aria-pressed=true] { color: var(--_accent); background: var(--_hover) }
.bell { position: relative; min-width: 40px; min-height: 40px }
.badge { position: absolute; inset-block-start: 1px; inset-inline-end: 0; min-width: 18px; padding: 0 4px; border-radius: 9px; background: var(--_badge); color: var(--_badge-text); font-size: 11px; line-height: 18px; text-align: center }
.panel { display: flex; flex-direction: column; background: var(--_background); border: 1px solid var(--_border); border-radius: var(--_radius); overflow: hidden; block-size: var(--plinth-inbox-height, 520px); max-block-size: 100% }
:host(:not([mode=inline])) .panel { position: absolute; z-index: var(--plinth-inbox-z-index, 1000); inset-block-start: calc(100% + 6px); inset-inline-end: 0; inline-size: min(var(--plinth-inbox-width, 400px), calc(100vw - 16px)); max-block-size: calc(100vh - 80px); box-shadow: 0 8px 28px rgb(0 0 0 / .22) }
@media (min-width: 481px) { :host([align=start]:not([mode=inline])) .panel { inset-inline: 0 auto } }
@media (max-width: 480px) { :host(:not([mode=inline])) .panel { position: fixed; inset: 8px; inline-size: auto; block-size: auto; max-block-size: none } }
.header { display: flex; align-items: center; gap: 4px; padding-block: 8px 4px; padding-inline: 14px 8px }
h2 { flex: 1; font-size: 16px; font-weight: 600 }
.toolbar { display: flex; flex-direction: column; gap: 4px; padding: 0 8px 6px; border-block-end: 1px solid var(--_border) }
.tabs { display: flex; gap: 2px; overflow-x: auto; scrollbar-width: thin; padding-block-end: 2px }
.tab { flex: none; color: var(--_muted) }
.tab[aria-selected=true] { color: var(--_accent); background: var(--_hover); font-weight: 600 }
label { display: flex; align-items: center; gap: 8px; min-block-size: 28px; padding-inline: 8px }
input { inline-size: 16px; block-size: 16px; margin: 0; accent-color: var(--_accent) }
.view { display: flex; flex: 1; flex-direction: column; min-block-size: 0 }
.scroll { flex: 1; overflow-y: auto; min-block-size: 0 }
.item { display: grid; grid-template-columns: 1fr auto; border-block-end: 1px solid var(--_border) }
.item:hover { background: var(--_hover) }
.open { display: block; min-inline-size: 0; padding-block: 10px; padding-inline: 14px 4px; border-radius: 0; text-align: start }
.subject { display: block; overflow-wrap: anywhere }
.unread .subject { font-weight: 600 }
.unread .subject::before { content: ''; display: inline-block; inline-size: 8px; block-size: 8px; margin-inline-end: 6px; border-radius: 50%; background: var(--_accent) }
.content { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; overflow-wrap: anywhere; white-space: pre-line; color: var(--_muted) }
.time { display: block; color: var(--_muted); font-size: 12px }
.actions { display: flex; padding-block: 6px 0; padding-inline: 0 6px; color: var(--_muted) }
.attachments { grid-column: 1 / -1; padding: 0 14px 8px }
a { color: var(--_accent); overflow-wrap: anywhere }
.empty, .note { padding: 16px; text-align: center; color: var(--_muted) }
.note { padding: 8px 14px; background: var(--_hover); text-align: start; color: var(--_text) }
.more { display: block; margin: 8px auto; border-color: var(--_border) }
.undo, .error { display: flex; grid-column: 1 / -1; align-items: center; gap: 8px; padding: 8px 14px }
.error { border-block-start: 1px solid var(--_border) }
.undo span, .error span { flex: 1 }
.undo button, .error button { color: var(--_accent); font-weight: 600 }
.settings { flex: 1; overflow-y: auto; padding: 4px 8px 12px }
.settings label { display: inline-flex }
legend { padding: 10px 8px 4px; font-weight: 600 }
.hint { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
@media (prefers-reduced-motion: no-preference) { button { transition: background-color .12s } }
@media (forced-colors: active) { .badge, .panel { border: 1px solid } }
`

let sheet: CSSStyleSheet | undefined

/** Returns the style sheet that all elements share. Constructed sheets are allowed by `style-src 'none'`. */
export function styleSheet(): CSSStyleSheet {
  if (sheet === undefined) {
    sheet = new CSSStyleSheet()
    sheet.replaceSync(css)
  }
  return sheet
}
