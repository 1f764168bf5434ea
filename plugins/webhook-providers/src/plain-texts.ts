import {
  measureText,
  percentEncodedMark,
  truncateToFit,
  type WebhookMessage,
  type WebhookPlainText,
} from '@plinth/notification-channels/webhook'

/**
 * Rules to show plain text literally in each service. Tokens are parts of a text that the service would interpret as a
 * mention, a link with its own text, or a format. A bare URL is not a token, because it shows its target. It stays the
 * same address: `inAddress` of services that would take an escape for a part of the URL percent-encodes the marks in it.
 */

/** Zero-width space. It is invisible and breaks a token, because no token contains it. */
const gap = '\u200b'

/** Combines all tokens of a service into one expression, so that a replacement is not matched again. */
const anyOf = (...tokens: readonly RegExp[]) => new RegExp(tokens.map(({ source }) => source).join('|'), 'gimu')

const escaped = (token: string) => (token === '' ? gap : `\\${token}`)
const takenApart = (token: string) => token + gap
/** Rules in URLs, for services that undo no escapes in them. */
const inAddress = percentEncodedMark
const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const asEntity = (token: string) => entities[token] ?? token
/**
 * Returns the full-width form of a character, for services without escapes. It looks alike (Unicode NFKC), but has no
 * special meaning.
 */
const wide = (token: string) => String.fromCodePoint((token.codePointAt(0) ?? 0) - 0x21 + 0xff01)

// A character between blanks, as in "5 * 3", has no special meaning. An underscore inside a word has none either.
const star = /\*(?=\S)|(?<=\S)\*/
const underscore = /(?<![\p{L}\p{N}])_(?=\S)|(?<=\S)_(?![\p{L}\p{N}])/u
const tilde = /(?<!\/)~(?=\S)|(?<=[^\s/])~/
const backtick = /`/
const backslash = /\\(?=[!-/:-@[-`{-~]|$)/
/** Matches the `]` in `[text](address)`. The text itself is not matched, so it stays unchanged. */
const linkMiddle = /\](?=\()/
/** Also matches the `]` of `[text][label]` and of the definition of a label. */
const anyLinkMiddle = /\](?=[([:])/
const tag = /<(?=[a-z/!?])/
const entity = /&(?=#?\w{1,32};)/
// The following expressions match at the start of a line, also after other list or quote marks. They allow for 16 such
// marks, because authors write fewer in a row.
const heading = /#(?<=^[ \t>*+-]{0,16}#)(?=#{0,5}(?:\s|$))/
const quote = />(?<=^[ \t>*+-]{0,16}>)/
const bullet = /[-+*](?<=^[ \t>*+-]{0,16}.)(?=\s|$)/
const ordinal = /[.)](?<=^[ \t>*+-]{0,16}\d{1,9}.)(?=\s|$)/
/** Matches the first character of a horizontal line, a heading underline or a table delimiter row. */
const ruler = /[-=|:_](?<=^[ \t]{0,16}.)(?=[-=|:_* \t]*$)/
const indentedCode = /^(?= {4}| {0,3}\t)/

const inline = [backslash, star, underscore, tilde, backtick, anyLinkMiddle, tag, entity]
const blocks = [heading, quote, bullet, ordinal, ruler, indentedCode]

/** CommonMark, with the tables and strikethrough of GitHub. A backslash escapes every mark. */
export const commonMark: WebhookPlainText = { tokens: anyOf(...inline, ...blocks), show: escaped, inAddress }

/** CommonMark, for services that also render HTML in it. */
export const markdownWithHtml: WebhookPlainText = {
  tokens: commonMark.tokens,
  show: (token) => (token === '<' || token === '&' ? asEntity(token) : escaped(token)),
  inAddress: (token) => (token === '&' ? asEntity(token) : inAddress(token)),
}

export const html: WebhookPlainText = { tokens: /[&<>"]/g, show: asEntity }

/**
 * Rules for Mattermost: Markdown, mentions by name, and Slack syntax that the server converts before it reads the
 * Markdown.
 */
export const mattermost: WebhookPlainText = {
  tokens: anyOf(/(?<!\w)@(?=\w)/, /<(?=[!@#?/a-z]|[a-z0-9]{26}>)/, ...inline, ...blocks),
  show: (token) => (token === '@' || token === '<' ? takenApart(token) : escaped(token)),
  inAddress,
}

/**
 * Rules for Discord (support article "Markdown Text 101"; developer documentation, "Message Formatting"). Discord undoes
 * no escapes in the text of a link, so a zero-width space separates this text from the target.
 */
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
  show: (token) => (token === '@' || token === ']' ? takenApart(token) : escaped(token)),
  inAddress,
}

/**
 * Matches a text after which Rocket.Chat would read the next characters as part of a URL without a scheme. A backslash
 * would then become part of that URL.
 */
const openAddress = /(?::\/\/|[a-z0-9]\.[a-z]{2})\S*$/i

/**
 * Rules for Rocket.Chat, derived from the grammar of `@rocket.chat/message-parser`. A backslash escapes some marks;
 * other tokens are broken with a zero-width space. An email address is not a mention.
 */
export const rocketchat: WebhookPlainText = {
  tokens: anyOf(
    /(?<!(?<![^\s(])[a-z0-9][a-z0-9.+-]{0,63})@(?=[\p{L}\p{N}_.-])/u,
    /<(?=[^\s<>|.:/]{0,512}[.:/][^\s<>|]{0,2048}[|>])/,
    /:(?=[\w+-]+:)/,
    /\|(?=\|)|(?<=\|)\|/,
    linkMiddle,
    // Matches the start of a quote, a list, a task or a table delimiter row.
    /^(?=>|[-*]\s|[ \t]{0,16}[|:-][-|: \t]*$)/,
    /[*~`]/,
    /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/u,
    /#(?=[\p{L}\p{N}_.-]|#{0,5}\s)|(?<=\\)#/u,
    // Matches marks of formulas (KaTeX): `$x$`, `\(x\)` and `\[x\]`.
    /\$(?=[^$]*\$)|\$(?<=\$[^$]*\$)/,
    /\\(?=[.([])/,
    /\.(?<=^\d{1,9}\.)(?=\s)/,
  ),
  show: (token, before) => {
    if (/^[@<:|\]\\]/.test(token)) return takenApart(token)
    if (token === '$') return wide(token)
    if (!openAddress.test(before.slice(-512)) || !/[*~`_]/.test(token)) return escaped(token)
    const encoded = inAddress(token)
    return encoded === token ? wide(token) : encoded
  },
  inAddress,
}

/** Rules for a Slack text without `mrkdwn`. Slack still interprets entities and text in angle brackets there. */
export const slack: WebhookPlainText = { tokens: /[&<>]/g, show: asEntity }

/**
 * Rules for `mrkdwn` of Slack. Entities are its only escapes. At the start of a line, even an entity starts a quote.
 */
export const slackMrkdwn: WebhookPlainText = {
  tokens: anyOf(/[&<>]/, star, underscore, tilde, backtick),
  show: (token, before) => {
    if (token === '>' && /(?:^|\n)$/.test(before)) return `${gap}&gt;`
    return entities[token] ?? wide(token)
  },
  inAddress: (token) => entities[token] ?? inAddress(token),
}

/** Rules for Google Chat ("Format messages"). It has no escapes. */
export const googleChat: WebhookPlainText = {
  tokens: anyOf(/<(?=[a-z][\w+.-]*[:/])/, /^(?=[ \t]{0,16}[-*] )/, star, underscore, tilde, backtick),
  show: (token) => (token === '' ? gap : token === '<' ? takenApart(token) : wide(token)),
  inAddress,
}

/** Mentions of WeCom. They also work in messages of the type text. */
export const wecom: WebhookPlainText = { tokens: /<(?=@)/g, show: takenApart }

/** Rules for WeCom Markdown. The documentation of WeCom describes no escape characters. */
export const wecomMarkdown: WebhookPlainText = {
  tokens: anyOf(/<(?=[@/a-z])/, linkMiddle, star, backtick, /^(?=[ \t]{0,16}(?:#{1,6}\s|>))/),
  show: (token) => (token === '' ? gap : /[<\]]/.test(token) ? takenApart(token) : wide(token)),
  inAddress,
}

/** Rules for the message types text and post of Feishu: mentions, links and style tags. */
export const feishu: WebhookPlainText = {
  tokens: anyOf(/<(?=\/?(?:at|a|b|i|u|s)\b)/, linkMiddle),
  show: takenApart,
}

/**
 * Rules for the Markdown of a Feishu card. Special characters are replaced by numeric character references such as
 * `&#42;`. Feishu shows the character and does not interpret it.
 */
export const feishuCard: WebhookPlainText = {
  tokens: anyOf(star, underscore, tilde, backtick, linkMiddle, tag, entity, heading, quote, bullet, ordinal, ruler),
  show: (token) => `&#${token.codePointAt(0)};`,
}

/** Matches a mention by name, which Telegram finds in every message type. */
const telegramMention = /(?<![\w@])@(?=[a-z]\w{3})/
/** Telegram undoes escapes before it looks for URLs, so only mentions differ in them. */
const telegramWith = (tokens: readonly RegExp[], show: (token: string) => string): WebhookPlainText => ({
  tokens: anyOf(telegramMention, ...tokens),
  show: (token) => (token === '@' ? takenApart(token) : show(token)),
  inAddress: (token) => (token === '@' ? inAddress(token) : show(token)),
})
export const telegram = telegramWith([], takenApart)
export const telegramHtml = telegramWith([/[&<>]/], asEntity)
export const telegramMarkdown = telegramWith([/[_*`[]/], escaped)
/**
 * Rules for MarkdownV2 of Telegram. Telegram rejects a message in which one of these characters is neither a mark nor
 * escaped.
 */
export const telegramMarkdownV2 = telegramWith([/[_*[\]()~`>#+\-=|{}.!\\]/], escaped)

/** Rules for text blocks of adaptive cards: they support a part of Markdown, and functions in braces. */
export const adaptiveCard: WebhookPlainText = {
  tokens: anyOf(/\{(?=\{)/, backslash, star, underscore, anyLinkMiddle, bullet, ordinal),
  show: (token) => (token === '{' ? takenApart(token) : escaped(token)),
  inAddress: (token) => (token === '{' ? takenApart(token) : inAddress(token)),
}

const fence = '```'

/** True if a text ends inside a code block between two fences. */
export const isCodeOpen = (text: string): boolean => text.split(fence).length % 2 === 0

/**
 * Closes the code block that a text ends in, for services that show a fence without its end as text. A text that was cut
 * has lost this end.
 */
export const closeCode = (text: string): string => (isCodeOpen(text) ? `${text}\n${fence}` : text)

/** Joins subject and content. An empty text adds no line. */
export const joinSubjectAndContent = (subject: string, content: string, between = '\n'): string =>
  [subject, content].filter((text) => text !== '').join(between)

/**
 * Returns a title, for services that show it literally. Without a subject, the title is the first line of the content.
 */
export function titleFromMessage({ written: { subject, content } }: WebhookMessage, max: number): string {
  const [line = ''] = (subject.trim() || content.trim()).split(/\r?\n/, 1)
  return truncateToFit(line, 2 * max, (text) => measureText(text, 'characters') <= max) || 'Notification'
}

/** Turns each line break into a Markdown paragraph. */
export const doubleMarkdownLineBreaks = (text: string): string => text.replace(/\r?\n/g, '\n\n')
