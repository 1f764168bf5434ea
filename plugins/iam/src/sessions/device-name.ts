/** Maximum length of a device name in characters, like the column. */
export const maxDeviceNameLength = 100

/** Only the beginning of a header is read, because callers choose its length. */
const maxReadLength = 512

type Table = readonly (readonly [name: string, pattern: RegExp])[]

/** Browsers and programs. The first match wins: browsers also list the names of the browsers that they are based on. */
const programs: Table = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['WeChat', /\bMicroMessenger\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:(?:Headless)?Chrome|CriOS)\//],
  ['Safari', /\bVersion\/[\d.]+.*\bSafari\//],
]

const systems: Table = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\bMac(?:intosh| OS X)\b/],
  ['Linux', /\bLinux\b/],
]

/**
 * Name of a program in the header, for example `curl` in `curl/8.5.0`. Without dots, because mail programs show
 * `example.com` as a link.
 */
const product = /^[A-Za-z][\w-]{0,39}(?=\/|$)/

/**
 * Returns a short name of the device, for example "Chrome, Windows", or `undefined`. The caller chooses the header, so the
 * name is only shown and never decides anything. Client hints are not read: the names of browser and system are also
 * in the header, and only some browsers send hints.
 */
export function deviceNameOf(userAgent: string): string | undefined {
  const read = userAgent.slice(0, maxReadLength)
  const nameIn = (table: Table) => table.find(([, pattern]) => pattern.test(read))?.[0]
  const program = nameIn(programs)
  if (program === undefined) return product.exec(read)?.[0]
  return [program, nameIn(systems)].filter((name) => name !== undefined).join(', ')
}
