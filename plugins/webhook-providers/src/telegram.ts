import {
  asPlainText,
  createResponseJudge,
  isJsonObject,
  valueAtPath,
  WebhookInputError,
  type WebhookMessage,
  type WebhookPlainText,
  webhookProviderPlugin,
} from '@plinth/notification-channels/webhook'
import { joinSubjectAndContent, telegram, telegramHtml, telegramMarkdown, telegramMarkdownV2 } from './plain-texts.ts'

/** A markup of Telegram. `bold` formats a title; `plain` returns the readable text. */
interface Markup {
  bold(text: string): string
  plain(text: string): string
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' }
const tags = /<\/?(?:b|strong|i|em|u|ins|s|strike|del|span|tg-spoiler|tg-emoji|code|pre|blockquote|a)(?:\s[^<>]*)?>/gi

function plainHtml(text: string): string {
  const linked = text.replace(/<a\s[^<>]*?href=["']([^<>"']*)["'][^<>]*>([^<>]*)<\/a>/gi, '$2 ($1)')
  return linked.replace(tags, '').replace(/&(lt|gt|quot|amp);/g, (_, name: string) => entities[name] ?? '')
}

/** Pairs of marks. Longer marks come first, because a shorter mark also matches a part of a longer one. */
const pairs: readonly RegExp[] = [
  /\|\|((?:\\.|[^|\\])+)\|\|/g,
  /(?<!\w)__((?:\\.|[^_\\])+)__(?!\w)/g,
  /\*((?:\\.|[^*\\])+)\*/g,
  /(?<!\w)_((?:\\.|[^_\\])+)_(?!\w)/g,
  /~((?:\\.|[^~\\])+)~/g,
]
const legacyPairs = [/\*((?:\\.|[^*\\])+)\*/g, /(?<!\w)_((?:\\.|[^_\\])+)_(?!\w)/g]
const link = /\[([^[\]\n]{0,512})\]\(([^()\s]{0,2048})\)/g

/** Removes the marks of a text. Code stays unchanged, and unpaired marks stay as text. */
function plainMarkdown(text: string, marks: readonly RegExp[], escaped: RegExp): string {
  const parts = text.split(/(```[^`]*```|`[^`\n]*`)/)
  const shown = parts.map((part, index) => {
    if (index % 2 === 1) return part.replace(/^(?:```(?:[\w-]*\n)?|`)|(?:```|`)$/g, '')
    const linked = part.replace(link, '$1 ($2)')
    return marks.reduce((left, mark) => left.replace(mark, '$1'), linked).replace(escaped, '$1')
  })
  return shown.join('')
}

/** Markups by the value of `parse_mode`. */
const markups: Readonly<Record<string, Markup>> = {
  HTML: { bold: (text) => `<b>${asPlainText(text, telegramHtml)}</b>`, plain: plainHtml },
  MarkdownV2: {
    bold: (text) => `*${asPlainText(text, telegramMarkdownV2)}*`,
    plain: (text) => plainMarkdown(text, pairs, /\\([_*[\]()~`>#+\-=|{}.!\\])/g),
  },
  Markdown: {
    bold: (text) => `*${asPlainText(text, telegramMarkdown)}*`,
    plain: (text) => plainMarkdown(text, legacyPairs, /\\([_*`[])/g),
  },
}

const typed = (plain: WebhookPlainText, mode?: 'HTML' | 'Markdown' | 'MarkdownV2') => ({
  body: ({ written, subject, content, attributes, endpoint }: WebhookMessage) => {
    if (attributes['chat-id'] === undefined && !endpoint.searchParams.has('chat_id')) {
      throw new WebhookInputError('webhook.telegram.chat-id', 'be there')
    }
    const markup = mode === undefined ? undefined : markups[mode]
    // The subject is written as plain text in each markup, because Telegram rejects a message with an unpaired mark.
    const title = subject === '' ? '' : (markup?.bold(written.subject) ?? subject)
    return {
      text: joinSubjectAndContent(title, content),
      ...(mode === undefined ? {} : { parse_mode: mode }),
      link_preview_options: { is_disabled: true },
    }
  },
  plain,
  limit: { max: 4096, unit: 'utf16', member: 'text' } as const,
})

const typesByMode: Readonly<Record<string, string>> = { HTML: 'html', Markdown: 'markdown', MarkdownV2: 'markdown-v2' }

/** Returns the path of the bot. The URL may already contain the token, followed by a method. */
function botPath({ pathname }: URL, token: string | undefined): string {
  const path = pathname.replace(/\/+$/, '')
  return /\/bot[^/]+/.test(path) || token === undefined ? path : `${path}/bot${token}`
}

/** Bot API of Telegram. The secret is the token of a bot. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.telegram', version: '1.0.0' },
  {
    code: 'telegram',
    displayName: { en: 'Telegram', 'zh-CN': 'Telegram' },
    endpoint: 'https://api.telegram.org/',
    knownHosts: ['api.telegram.org'],
    secret: {
      use: 'token',
      pattern: '^[0-9]+:[A-Za-z0-9_-]+$',
      rule: {
        en: 'be the token of a bot: digits, ":", then letters, digits, "_" and "-"',
        'zh-CN': '是机器人令牌：数字、“:”，其后为字母、数字、“_”和“-”',
      },
    },
    attributes: {
      'chat-id': { title: { en: 'Chat', 'zh-CN': '会话 ID' }, member: 'chat_id' },
      'parse-mode': {
        title: { en: 'Markup', 'zh-CN': '标记格式' },
        values: ['Markdown', 'MarkdownV2', 'HTML'],
        member: 'parse_mode',
      },
    },
    messageTypes: {
      text: typed(telegram),
      markdown: typed(telegramMarkdown, 'Markdown'),
      'markdown-v2': typed(telegramMarkdownV2, 'MarkdownV2'),
      html: typed(telegramHtml, 'HTML'),
    },
    messageTypeOf: (chosen, { 'parse-mode': mode }) => typesByMode[String(mode)] ?? chosen,
    rateLimits: [{ max: 1, windowMs: 1000 }],
    rateLimitBy: 'chat-id',
    receiver: 'chat-id',
    verify: {
      address: ({ endpoint: url, token }) => {
        url.pathname = `${botPath(url, token).replace(/(\/bot[^/]+)\/\w+$/, '$1')}/getMe`
        return { url, headers: {} }
      },
      accepts: ({ json }) => valueAtPath(json, 'result.is_bot') === true,
    },
    address: ({ endpoint: url, token }) => {
      const bot = botPath(url, token)
      url.pathname = /\/bot[^/]+\/\w+$/.test(bot) ? bot : `${bot}/sendMessage`
      return { url, headers: {} }
    },
    judge: createResponseJudge({
      delivered: ({ json }) => valueAtPath(json, 'ok') === true,
      code: 'error_code',
      message: 'description',
      id: 'result.message_id',
      retryAfter: 'parameters.retry_after',
      texts: {
        'bot was blocked': { hint: 'recipient-blocked' },
        'user is deactivated': { hint: 'recipient-blocked' },
        'chat not found': { hint: 'recipient-blocked' },
        'group chat was upgraded': { hint: 'recipient-moved' },
        'message is too long': { hint: 'payload-too-large' },
      },
      codes: { '403': { hint: 'recipient-blocked' } },
    }),
    corrected({ json }, request) {
      const { body } = request
      if (!isJsonObject(body)) return undefined
      const moved = valueAtPath(json, 'parameters.migrate_to_chat_id')
      if (typeof moved === 'number' || typeof moved === 'string') {
        return { request: { ...request, body: { ...body, chat_id: moved } }, hint: 'recipient-moved' }
      }
      // Sends the message again without markup if Telegram cannot parse it. A message without markup is better than
      // none.
      const said = String(valueAtPath(json, 'description'))
      if (!said.includes("can't parse entities") || body['parse_mode'] === undefined) return undefined
      const { parse_mode: mode, ...plain } = body
      const { text } = plain
      const shown = typeof text === 'string' ? { text: markups[String(mode)]?.plain(text) ?? text } : {}
      return { request: { ...request, body: { ...plain, ...shown } }, hint: 'payload-invalid' }
    },
  },
)
