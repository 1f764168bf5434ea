import {
  measureText,
  truncateToFit,
  type WebhookMessage,
  type WebhookPlainText,
} from '@plinth/notification-channels/webhook'

/**
 * Rules to show plain text literally in each service. Tokens are parts of a text that the service would interpret as a
 * mention, a link with its own text, or a format. A bare URL is not a token and stays unchanged, because it shows its
 * target.
 */

/** Zero-width space. It is invisible and breaks a token, because no token contains it. */
const gap = '\u200b'

/** Combines all tokens of a service into one expression, so that a replacement is not matched again. */
const anyOf = (...tokens: readonly RegExp[]) => new RegExp(tokens.map(({ source }) => source).join('|'), 'gimu')

const escaped = (token: string) => (token === '' ? gap : `\\${token}`)
const takenApart = (token: string) => token + gap
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
export const commonMark: WebhookPlainText = { tokens: anyOf(...inline, ...blocks), show: escaped }

/** CommonMark, for services that also render HTML in it. */
export const markdownWithHtml: WebhookPlainText = {
  tokens: commonMark.tokens,
  show: (token) => (token === '<' || token === '&' ? asEntity(token) : escaped(token)),
}

export const html: WebhookPlainText = { tokens: /[&<>"]/g, show: asEntity }

/**
 * Rules for Mattermost: Markdown, mentions by name, and Slack syntax that the server converts before it reads the
 * Markdown.
 */
export const mattermost: WebhookPlainText = {
  tokens: anyOf(/(?<!\w)@(?=\w)/, /<(?=[!@#?/a-z]|[a-z0-9]{26}>)/, ...inline, ...blocks),
  show: (token) => (token === '@' || token === '<' ? takenApart(token) : escaped(token)),
}

/** Rules for Discord (support article "Markdown Text 101"; developer documentation, "Message Formatting"). */
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

/**
 * Matches a text after which Rocket.Chat would read the next characters as part of a URL. A backslash would then become
 * part of that URL.
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
    /\\(?=\.)/,
    /\.(?<=^\d{1,9}\.)(?=\s)/,
  ),
  show: (token, before) => {
    if (/^[@<:|\]]/.test(token)) return takenApart(token)
    return openAddress.test(before.slice(-512)) && /[*~`_]/.test(token) ? wide(token) : escaped(token)
  },
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
}

/** Rules for Google Chat ("Format messages"). It has no escapes. */
export const googleChat: WebhookPlainText = {
  tokens: anyOf(/<(?=[a-z][\w+.-]*[:/])/, /^(?=[ \t]{0,16}[-*] )/, star, underscore, tilde, backtick),
  show: (token) => (token === '' ? gap : token === '<' ? takenApart(token) : wide(token)),
}

/** Mentions of WeCom. They also work in messages of the type text. */
export const wecom: WebhookPlainText = { tokens: /<(?=@)/g, show: takenApart }

/** Rules for WeCom Markdown. The documentation of WeCom describes no escape characters. */
export const wecomMarkdown: WebhookPlainText = {
  tokens: anyOf(/<(?=[@/a-z])/, linkMiddle, star, backtick, /^(?=[ \t]{0,16}(?:#{1,6}\s|>))/),
  show: (token) => (token === '' ? gap : /[<\]]/.test(token) ? takenApart(token) : wide(token)),
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
const telegramWith = (tokens: RegExp, show: (token: string) => string): WebhookPlainText => ({
  tokens: anyOf(telegramMention, tokens),
  show: (token) => (token === '@' ? takenApart(token) : show(token)),
})
export const telegram: WebhookPlainText = { tokens: anyOf(telegramMention), show: takenApart }
export const telegramHtml = telegramWith(/[&<>]/, asEntity)
export const telegramMarkdown = telegramWith(/[_*`[]/, escaped)
/**
 * Rules for MarkdownV2 of Telegram. Telegram rejects a message in which one of these characters is neither a mark nor
 * escaped.
 */
export const telegramMarkdownV2 = telegramWith(/[_*[\]()~`>#+\-=|{}.!\\]/, escaped)

/** Rules for text blocks of adaptive cards: they support a part of Markdown, and functions in braces. */
export const adaptiveCard: WebhookPlainText = {
  tokens: anyOf(/\{(?=\{)/, backslash, star, underscore, linkMiddle, bullet, ordinal),
  show: (token) => (token === '{' ? takenApart(token) : escaped(token)),
}

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
