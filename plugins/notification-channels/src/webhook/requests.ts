import type { JsonValue, NotificationMessage, TextRange } from '@plinth/kernel'
import { hasNoText } from '../message-text.ts'
import { WebhookInputError, type WebhookMessage, type WebhookRequest, type WebhookSecret } from './contract.ts'
import { decodeEscapes } from './masking.ts'
import type { Route } from './routing.ts'
import { buildFittingBody, cleanLine, cleanText, escapeRanges, wholeTextRange } from './texts.ts'

/** Bytes. */
const largestRequest = 262_144

export const bodyText = ({ body }: Pick<WebhookRequest, 'body'>): string =>
  typeof body === 'string' ? body : JSON.stringify(body)

/**
 * Returns the body as text.
 *
 * @param what subject of the error message
 * @throws WebhookInputError if the body is too large
 */
export function requestBodyText(request: Pick<WebhookRequest, 'body'>, what: 'content' | 'webhook.payload'): string {
  const text = bodyText(request)
  // A UTF-16 unit has at most three bytes in UTF-8, so the bytes of short texts need not be counted.
  if (3 * text.length <= largestRequest || Buffer.byteLength(text) <= largestRequest) return text
  throw new WebhookInputError(what, `be at most ${largestRequest} bytes`)
}

/**
 * Sets query parameters. The text of the other parameters does not change, because some are signed or compared
 * literally.
 */
export function withQuery(url: URL, parameters: Readonly<Record<string, string>>): URL {
  const changed = new URL(url)
  const nameOf = (pair: string) => new URLSearchParams(pair).keys().next().value ?? ''
  const others = url.search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && !Object.hasOwn(parameters, nameOf(pair)))
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  changed.search = [...others, ...pairs].join('&')
  return changed
}

type Address = Omit<WebhookRequest, 'body'>

/** Decodes a token that was copied from a URL, such as `abc%3D`. Otherwise it would be escaped twice. */
const unescaped = (token: string) => token.replace(/(?:%[0-9A-Fa-f]{2})+/g, (escapes) => decodeEscapes(escapes))

/** Inserts the token where the provider expects it. */
export function withToken({ url, headers }: Address, secret: WebhookSecret, token: string | undefined): Address {
  const into = secret.use === 'token' ? secret.into : undefined
  if (token === undefined || into === undefined) return { url, headers }
  if (into === 'path') {
    const longer = new URL(url)
    if (url.pathname.endsWith('/')) longer.pathname += token
    return { url: longer, headers }
  }
  if ('query' in into) {
    return { url: url.searchParams.has(into.query) ? url : withQuery(url, { [into.query]: unescaped(token) }), headers }
  }
  if ('header' in into) return { url, headers: { ...headers, [into.header]: `${into.prefix ?? ''}${token}` } }
  return { url, headers }
}

/** Returns the payload fields that configuration and attributes set. */
function membersOf({ provider, attributes }: Route, token: string | undefined): object {
  const { secret, attributes: rules = {} } = provider
  const into = secret.use === 'token' ? secret.into : undefined
  const own = Object.entries(rules).flatMap(([name, { member }]): [string, JsonValue | undefined][] =>
    member === undefined || attributes[name] === undefined ? [] : [[member, attributes[name]]],
  )
  const member = typeof into === 'object' && 'member' in into && token !== undefined ? { [into.member]: token } : {}
  return { ...member, ...Object.fromEntries(own) }
}

/** A message for a provider. It is a class, because an object literal with a getter is slow. */
class ShownMessage implements WebhookMessage {
  readonly id: string
  readonly subject: string
  readonly content: string
  readonly written: WebhookMessage['written']
  readonly locale: string | undefined
  readonly attributes: WebhookMessage['attributes']
  readonly context: WebhookMessage['context']
  readonly token: string | undefined
  readonly nowMs: number
  readonly #endpoint: URL

  constructor(
    { id, locale, context, nowMs }: Pick<WebhookMessage, 'id' | 'locale' | 'context' | 'nowMs'>,
    { attributes, endpoint }: Route,
    token: string | undefined,
    shown: Pick<WebhookMessage, 'subject' | 'content'>,
    written: WebhookMessage['written'],
  ) {
    this.id = id
    this.subject = shown.subject
    this.content = shown.content
    this.written = written
    this.locale = locale
    this.attributes = attributes
    this.context = context
    this.token = token
    this.nowMs = nowMs
    this.#endpoint = endpoint
  }

  /** Created only on access, because few providers use the URL. */
  get endpoint(): URL {
    return new URL(this.#endpoint)
  }
}

/** Returns subject and content without control characters. `shown` applies `plain` to texts that were shortened. */
function textsOf({ subject, content, valueRanges }: NotificationMessage, { messageType, provider }: Route) {
  const line = cleanLine({ text: subject, ranges: valueRanges?.subject ?? [] })
  const body = cleanText({ text: content, ranges: valueRanges?.content ?? [] })
  const plain = provider.messageTypes[messageType]?.plain
  const shown = (text: string, ranges: readonly TextRange[]) =>
    plain === undefined ? text : escapeRanges({ text, ranges: messageType === 'text' ? wholeTextRange : ranges }, plain)
  return {
    subject: line.text,
    content: body.text,
    shown: (ofSubject: string, ofContent: string) => ({
      subject: shown(ofSubject, line.ranges),
      content: shown(ofContent, body.ranges),
    }),
  }
}

/**
 * Builds the request without its signature.
 *
 * @param payload replaces the whole payload of the provider
 * @throws WebhookInputError
 */
export function buildRequest(
  route: Route,
  source: NotificationMessage,
  payload: JsonValue | undefined,
  nowMs: number,
): { readonly request: WebhookRequest; readonly truncated: boolean } {
  const { id, locale, attributes } = source
  const { provider, endpoint, secret } = route
  const type = provider.messageTypes[route.messageType]
  if (type === undefined) throw new WebhookInputError('webhook.message-type', 'be a type of the provider')
  if (payload === undefined && hasNoText(source)) {
    throw new WebhookInputError('The text', 'be there, in the message or by its template')
  }
  const { subject, content, shown } = textsOf(source, route)
  const token = provider.secret.use === 'token' ? secret : undefined
  const same = { id, locale, context: attributes, nowMs }
  const messageWith = (written: WebhookMessage['written']) =>
    new ShownMessage(same, route, token, shown(written.subject, written.content), written)
  const message = messageWith({ subject, content })
  const { url: own = endpoint, headers: ownHeaders } = provider.address?.(message) ?? { headers: {} }
  const { url, headers } = withToken({ url: own, headers: ownHeaders }, provider.secret, token)
  const members = membersOf(route, token)
  const build = (shortSubject: string, shortContent: string): object => {
    const isWhole = shortSubject === subject && shortContent === content
    const fit = isWhole ? message : messageWith({ subject: shortSubject, content: shortContent })
    return { ...type.body(fit), ...members }
  }
  const { body, truncated } =
    payload === undefined ? buildFittingBody(build, { subject, content }, type) : { body: payload, truncated: false }
  const request = { url, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body }
  return { request, truncated }
}
