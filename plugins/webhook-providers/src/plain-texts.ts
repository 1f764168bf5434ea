import { cutToFit, measure, type WebhookMessage, type WebhookPlainText } from '@plinth/notification-channels/webhook'

/**
 * What each parser reads as a mention, a link with a text of its own, or a format, and how that is shown as text. An address that is
 * written out is none of them: it shows where it leads, and stays as it is.
 */

/** Zero-width space: shown as nothing, and part of no token, so that it takes one apart. */
const gap = '\u200b'

/** One expression for all tokens of a parser: what replaces a token is not read again. */
const anyOf = (...tokens: readonly RegExp[]) => new RegExp(tokens.map(({ source }) => source).join('|'), 'gimu')

const escaped = (token: string) => (token === '' ? gap : `\\${token}`)
const takenApart = (token: string) => token + gap
const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const asEntity = (token: string) => entities[token] ?? token
/** For parsers that know no escape: the wide form of a character is the same character to a reader (Unicode NFKC), and no mark. */
const wide = (token: string) => String.fromCodePoint((token.codePointAt(0) ?? 0) - 0x21 + 0xff01)

// Marks that touch no text, as in "5 * 3", are none, and neither are underscores within a word.
const star = /\*(?=\S)|(?<=\S)\*/
const underscore = /(?<![\p{L}\p{N}])_(?=\S)|(?<=\S)_(?![\p{L}\p{N}])/u
const tilde = /(?<!\/)~(?=\S)|(?<=[^\s/])~/
const backtick = /`/
const backslash = /\\(?=[!-/:-@[-`{-~]|$)/
/** Of `[text](address)`; the text stays. */
const linkMiddle = /\](?=\()/
/** Also of `[text][label]` and of the definition of a label. */
const anyLinkMiddle = /\](?=[([:])/
const tag = /<(?=[a-z/!?])/
const entity = /&(?=#?\w{1,32};)/
// At the beginning of a line, behind marks that begin a block too. Sixteen of them are more than anybody nests.
const heading = /#(?<=^[ \t>*+-]{0,16}#)(?=#{0,5}(?:\s|$))/
const quote = />(?<=^[ \t>*+-]{0,16}>)/
const bullet = /[-+*](?<=^[ \t>*+-]{0,16}.)(?=\s|$)/
const ordinal = /[.)](?<=^[ \t>*+-]{0,16}\d{1,9}.)(?=\s|$)/
/** The first mark of a rule, of an underlined heading, and of the second line of a table. */
const ruler = /[-=|:_](?<=^[ \t]{0,16}.)(?=[-=|:_* \t]*$)/
const indentedCode = /^(?= {4}| {0,3}\t)/

const inline = [backslash, star, underscore, tilde, backtick, anyLinkMiddle, tag, entity]
const blocks = [heading, quote, bullet, ordinal, ruler, indentedCode]

/** CommonMark and the tables and deletions of GitHub, where a backslash makes each mark text. */
export const commonMark: WebhookPlainText = { tokens: anyOf(...inline, ...blocks), show: escaped }

/** The same in services that also show HTML within Markdown. */
export const markdownWithHtml: WebhookPlainText = {
  tokens: commonMark.tokens,
  show: (token) => (token === '<' || token === '&' ? asEntity(token) : escaped(token)),
}

export const html: WebhookPlainText = { tokens: /[&<>"]/g, show: asEntity }

/** Mattermost: Markdown, mentions by name, and what it takes over from Slack before it reads Markdown. */
export const mattermost: WebhookPlainText = {
  tokens: anyOf(/(?<!\w)@(?=\w)/, /<(?=[!@#?/a-z]|[a-z0-9]{26}>)/, ...inline, ...blocks),
  show: (token) => (token === '@' || token === '<' ? takenApart(token) : escaped(token)),
}

/** Discord (support article "Markdown Text 101"; developer documentation, "Message Formatting"). */
export const discord: WebhookPlainText = {
  tokens: anyOf(
    /@(?=everyone|here)/,
    /<(?=[@#:/]|(?:a|t|id):|https?:)/,
    backslash,
    star,
    underscore,
    backtick,
    linkMiddle,
    /~(?=~)|(?<=~)~/,
    /\|(?=\|)|(?<=\|)\|/,
    heading,
    quote,
    bullet,
    ordinal,
    /-(?<=^[ \t]{0,16}-)(?=# )/,
  ),
  show: (token) => (token === '@' ? takenApart(token) : escaped(token)),
}

/** The end of a text that Rocket.Chat reads as the beginning of an address, which would swallow a backslash. */
const openAddress = /(?::\/\/|[a-z0-9]\.[a-z]{2})\S*$/i

/**
 * Rocket.Chat, by the grammar of `@rocket.chat/message-parser`: a backslash makes some marks text, the others are taken apart. An
 * address of a mailbox is no mention.
 */
export const rocketchat: WebhookPlainText = {
  tokens: anyOf(
    /(?<!(?<![^\s(])[a-z0-9][a-z0-9.+-]{0,63})@(?=[\p{L}\p{N}_.-])/u,
    /<(?=[^\s<>|.:/]{0,512}[.:/][^\s<>|]{0,2048}[|>])/,
    /:(?=[\w+-]+:)/,
    /\|(?=\|)|(?<=\|)\|/,
    linkMiddle,
    // Quotes, lists, tasks and the second line of a table.
    /^(?=>|[-*]\s|[ \t]{0,16}[|:-][-|: \t]*$)/,
    /[*~`]/,
    /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/u,
    /#(?=[\p{L}\p{N}_.-]|#{0,5}\s)|(?<=\\)#/u,
    /\\(?=\.)/,
    /\.(?<=^\d{1,9}\.)(?=\s)/,
  ),
  show: (token, before) => {
    if (/^[@<:|\]]/.test(token)) return takenApart(token)
    return openAddress.test(before.slice(-512)) && /[*~`_]/.test(token) ? wide(token) : escaped(token)
  },
}

/** Slack, where `mrkdwn` is off: entities and what angle brackets enclose are read all the same. */
export const slack: WebhookPlainText = { tokens: /[&<>]/g, show: asEntity }

/** Slack's `mrkdwn`, which knows no escape but entities. An entity at the beginning of a line is a quote still. */
export const slackMrkdwn: WebhookPlainText = {
  tokens: anyOf(/[&<>]/, star, underscore, tilde, backtick),
  show: (token, before) => {
    if (token === '>' && /(?:^|\n)$/.test(before)) return `${gap}&gt;`
    return entities[token] ?? wide(token)
  },
}

/** Google Chat ("Format messages"), which knows no escape. */
export const googleChat: WebhookPlainText = {
  tokens: anyOf(/<(?=[a-z][\w+.-]*[:/])/, /^(?=[ \t]{0,16}[-*] )/, star, underscore, tilde, backtick),
  show: (token) => (token === '' ? gap : token === '<' ? takenApart(token) : wide(token)),
}

/** WeCom, also in the type text. */
export const wecom: WebhookPlainText = { tokens: /<(?=@)/g, show: takenApart }

/** WeCom's Markdown, which documents no escape. */
export const wecomMarkdown: WebhookPlainText = {
  tokens: anyOf(/<(?=[@/a-z])/, linkMiddle, star, backtick, /^(?=[ \t]{0,16}(?:#{1,6}\s|>))/),
  show: (token) => (token === '' ? gap : /[<\]]/.test(token) ? takenApart(token) : wide(token)),
}

/** Feishu's types text and post: mentions, links and tags of styles. */
export const feishu: WebhookPlainText = {
  tokens: anyOf(/<(?=\/?(?:at|a|b|i|u|s)\b)/, linkMiddle),
  show: takenApart,
}

/** Markdown of a Feishu card ("Rich text", special characters): numbers of characters are text, and begin no block. */
export const feishuCard: WebhookPlainText = {
  tokens: anyOf(star, underscore, tilde, backtick, linkMiddle, tag, entity, heading, quote, bullet, ordinal, ruler),
  show: (token) => `&#${token.codePointAt(0)};`,
}

/** Telegram finds mentions by name in every type. */
const telegramMention = /(?<![\w@])@(?=[a-z]\w{3})/
const telegramWith = (tokens: RegExp, show: (token: string) => string): WebhookPlainText => ({
  tokens: anyOf(telegramMention, tokens),
  show: (token) => (token === '@' ? takenApart(token) : show(token)),
})
export const telegram: WebhookPlainText = { tokens: anyOf(telegramMention), show: takenApart }
export const telegramHtml = telegramWith(/[&<>]/, asEntity)
export const telegramMarkdown = telegramWith(/[_*`[]/, escaped)
/** Telegram rejects a message in which one of these is neither a mark nor escaped. */
export const telegramMarkdownV2 = telegramWith(/[_*[\]()~`>#+\-=|{}.!\\]/, escaped)

/** Text blocks of adaptive cards: a part of Markdown, and functions in braces. */
export const adaptiveCard: WebhookPlainText = {
  tokens: anyOf(/\{(?=\{)/, backslash, star, underscore, linkMiddle, bullet, ordinal),
  show: (token) => (token === '{' ? takenApart(token) : escaped(token)),
}

/** Subject and content, one below the other; without an empty line where one is missing. */
export const joined = (subject: string, content: string, between = '\n'): string =>
  [subject, content].filter((text) => text !== '').join(between)

/** A title, which the service shows without a parser; of a message without a subject its first line. */
export function titleOf({ written: { subject, content } }: WebhookMessage, max: number): string {
  const [line = ''] = (subject.trim() || content.trim()).split(/\r?\n/, 1)
  return cutToFit(line, 2 * max, (text) => measure(text, 'characters') <= max) || 'Notification'
}

/** A line break of a text as Markdown knows it: a line of its own. */
export const markdownLines = (text: string): string => text.replace(/\r?\n/g, '\n\n')
