import type { Page } from 'playwright-core'

/** A text that a page shows. */
export interface ShownText {
  readonly text: string
  /** True if a button next to the text copies it. */
  readonly isCopied: boolean
}

/** Returns the texts of a part of the document that are not hidden. */
export const textsOf = (page: Page, part: string): Promise<readonly ShownText[]> =>
  page.evaluate(`(() => {
    const root = document.querySelector(${JSON.stringify(part)})
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
    const found = []
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const text = node.data.trim()
      if (text === '' || node.parentElement.closest('script, style, [hidden]') !== null) continue
      found.push({ text, isCopied: node.parentElement.closest('[data-copied]') !== null })
    }
    return found
  })()`)

/** Id of a row. Nobody copies it. */
const rowId = /(?<![\w.])\d{12,}(?!\w)/

/** Texts that only programs understand. A text with a button that copies it may be one of them, except ids. */
const forPrograms: Readonly<Record<string, RegExp>> = {
  'an id': /(?<![\w.])\d{12,}(?!\w)|\b(?:user|order|payment):\w+/,
  'a UUID or ULID': /\b[0-9a-f]{8}-[0-9a-f]{4}-|\b[0-9A-HJKMNP-TV-Z]{26}\b/,
  'a hash': /\b0x[0-9a-f]{16,}|\b[0-9a-f]{32,}\b/,
  'a code in capitals': /\b[A-Z]{2,}(?:_[A-Z0-9]+)+\b/,
  'a code': /^(?!v\d)[a-z][a-z0-9]*(?:[-.:_][a-z0-9]+)+$/,
  'a permission code': /(?<![\w/])[a-z][a-z0-9-]*(?::[a-z][a-z0-9-]*){1,3}(?![\w/])/,
  JSON: /[[{]"|"[\]}]|\{\}|"\w+":/,
  'a moment in UTC': /\b\d{4}-\d\d-\d\dT\d/,
}

interface Allowed {
  /** Views by the beginning of their names; '' for all views. */
  readonly view: string
  readonly text: RegExp
  readonly reason: string
}

/** The only texts that break a rule, with the reason. */
const allowed: readonly Allowed[] = [
  {
    view: '',
    text: /^[\w ]+(?: \([a-z][a-z0-9:-]*\))$/,
    reason: 'the picker of permissions names each with its code, which error messages cite',
  },
  { view: '', text: /^[^()]*\([a-z][a-z0-9]*(?:[:-][a-z0-9-]+)+\)$/, reason: 'the same with a name in any language' },
  { view: '', text: /^Mozilla\/|^lightMyRequest$/, reason: 'a user agent is shown as the browser sent it' },
  {
    view: '',
    text: /^(?:Order|After-sales request) [MR]\w+$/,
    reason: 'the subject of a message is shown as it was sent',
  },
  { view: '', text: /^https?:/, reason: 'addresses, and errors of the network, are shown as they came' },
  { view: '', text: /^[A-Z]\w+\/[\w /-]+$/, reason: 'the names of time zones are those of the IANA database' },
  { view: 'notification.send', text: /^webhook: /, reason: 'a message is named by its channel and its subject' },
  {
    view: 'delivery-receipts.',
    text: /^[\w.:-]+$|^\d{3} |arn:aws:/,
    reason: 'sources are named as in the configuration, and ids and reports are those of the provider',
  },
  {
    view: 'digest.',
    text: /^[a-z0-9.-]+$|^messages\.[\w.-]+$|^[a-z]{3,5} \d\d:\d\d$/,
    reason: 'digests and subjects have codes, texts are message keys, and times of day are written as in the API',
  },
  {
    view: 'push.',
    text: /^Office laptop$|^[a-z.]+\.mozilla\.com$/,
    reason: 'users name their devices, and a push service has no other name than its host',
  },
  {
    view: 'suppression.',
    text: /^a\*{3}@example\.com$|^all$/,
    reason: 'addresses are masked, and categories are written as in the API',
  },
  {
    view: 'backup.',
    text: /^\d{4}-\d\d-\d\dT[\d-]+Z$/,
    reason: 'the id of a backup is the name of its directory, which commands take',
  },
  { view: 'events.', text: /^[\w.:-]*\d{15}$/, reason: 'the publisher of an event makes its key' },
  { view: 'webhooks.webhook-delivery', text: /^\d{15}$/, reason: 'the body of a request is shown as it was sent' },
  {
    view: 'notification.compose',
    text: /^[a-z-]+ · /,
    reason: 'the picker offers templates by their codes and subjects',
  },
  {
    view: 'template.template',
    text: /^\w+$|^order-shipped · mail · en$/,
    reason: 'the names of variables are part of the template, and drafts are named by code, channel and language',
  },
  {
    view: 'iam.audit',
    text: /^[a-z.-]+$/,
    reason: 'templates and notification rules have no other name than their code',
  },
  {
    view: 'system-config.',
    text: /^platform\.site\.title$/,
    reason: 'the keys that a second operator approves are written as in the file of the product',
  },
  {
    view: 'system-config.',
    text: /^(?:open-platform|push|suppression|web3|webhooks|first use)$/,
    reason: 'a plugin acts under its id',
  },
  { view: 'system-config.centre', text: /PLATFORM_[A-Z_]+/, reason: 'a hint names the variable of the environment' },
  { view: 'storage.disk', text: /^(?:public|local)$/, reason: 'disks have the names that the configuration uses' },
  { view: 'console.plugins', text: /^[\w.:-]+$/, reason: 'plugins are listed as in the file of the product' },
  {
    view: 'system-config.centre',
    text: /^[\w.<>/ -]+$/,
    reason: 'values and groups are written as in the file of the product',
  },
  {
    view: '',
    text: /一键清理演示数据/,
    reason: 'the specification defines the phrase that confirms the removal',
  },
  {
    view: 'rate-limit.operations',
    text: /^(?:[\w-]+|[0-9a-f:.]+\/\d+)$/,
    reason: 'names of HTTP headers and networks have no translation',
  },
]

/** Names that are the same in every language. */
const names =
  /\b(?:Webhook|Bark|Discord|Google Chat|Gotify|Mattermost|ntfy|Rocket\.Chat|Slack|Microsoft Teams|Telegram|SQLite|PostgreSQL|MariaDB|Node\.js|HTTPS?|HTML|MJML|mjml|html|CSV|JSON|URL|UTC|IP|ID|SMTP|KiB|MiB|GiB|EN|ECONNREFUSED|Firefox|Chrome|Linux)\b/g

/** Numbers of orders and of after-sales requests. People call these objects by their numbers. */
const shopNumbers = /\b(?:M\d{8}|R)[0-9A-Z]{9,11}\b/g

export interface Looked {
  readonly view: string
  readonly language: 'en' | 'zh-CN'
  readonly texts: readonly ShownText[]
}

/**
 * Returns what a person cannot read in a view.
 *
 * @param typed texts that people entered; they are shown in the language in which they were entered
 */
export function unreadable({ view, language, texts }: Looked, typed: ReadonlySet<string>): readonly string[] {
  const variants = [...typed].flatMap((text) => [text, text.replace(/\{\{\w+\}\}/g, '')])
  const entered = [...new Set(variants)].filter((text) => text.length > 3).sort((a, b) => b.length - a.length)
  return texts.flatMap(({ text, isCopied }) => {
    if (allowed.some((one) => view.startsWith(one.view) && one.text.test(text))) return []
    const rest = entered.reduce((left, one) => left.replaceAll(one, ' '), text.replace(shopNumbers, ' ')).trim()
    const rules = isCopied ? { 'an id': rowId } : forPrograms
    const broken = Object.entries(rules).filter(([, rule]) => rule.test(rest))
    const isForeign =
      language === 'en'
        ? /\p{Script=Han}/u.test(rest)
        : !isCopied && !/\p{Script=Han}/u.test(text) && /[A-Za-z]{2,}/.test(rest.replace(names, ''))
    const problems = [...broken.map(([kind]) => kind), ...(isForeign ? ['not translated'] : [])]
    return problems.map((problem) => `${language} ${view}: ${problem}: ${text.slice(0, 120)}`)
  })
}
