import type { JsonValue, NotificationMessage } from '@plinth/kernel'
import { WebhookInputError, type WebhookMessage, type WebhookRequest, type WebhookSecret } from './contract.ts'
import type { Route } from './routing.ts'
import { fitted } from './text-limit.ts'

/** Bytes of a request. */
const largestRequest = 262_144

/** What is sent, as text. */
export const bodyText = ({ body }: Pick<WebhookRequest, 'body'>): string =>
  typeof body === 'string' ? body : JSON.stringify(body)

/** Adds a parameter and leaves the others as they are written: some are signed, or compared letter by letter. */
export function withQuery(url: URL, parameters: Readonly<Record<string, string>>): URL {
  const added = new URL(url)
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  added.search = [url.search.slice(1), ...pairs].filter((part) => part !== '').join('&')
  return added
}

type Address = Omit<WebhookRequest, 'body'>

function withToken({ url, headers }: Address, secret: WebhookSecret, token: string | undefined): Address {
  const into = secret.use === 'token' ? secret.into : undefined
  if (token === undefined || into === undefined) return { url, headers }
  if (into === 'path') {
    const longer = new URL(url)
    if (url.pathname.endsWith('/')) longer.pathname += token
    return { url: longer, headers }
  }
  if ('query' in into) {
    return { url: url.searchParams.has(into.query) ? url : withQuery(url, { [into.query]: token }), headers }
  }
  if ('header' in into) return { url, headers: { ...headers, [into.header]: `${into.prefix ?? ''}${token}` } }
  return { url, headers }
}

/** Members that the configuration and the attributes put beside what the message type builds. */
function membersOf({ provider, attributes }: Route, token: string | undefined): object {
  const { secret, attributes: rules = {} } = provider
  const into = secret.use === 'token' ? secret.into : undefined
  const own = Object.entries(rules).flatMap(([name, { member }]): [string, JsonValue | undefined][] =>
    member === undefined || attributes[name] === undefined ? [] : [[member, attributes[name]]],
  )
  const member = typeof into === 'object' && 'member' in into && token !== undefined ? { [into.member]: token } : {}
  return { ...member, ...Object.fromEntries(own) }
}

/**
 * Builds the request of a message, not signed yet.
 *
 * @param payload replaces the whole payload
 * @throws WebhookInputError
 */
export function buildRequest(
  route: Route,
  { id, subject, content, locale, attributes }: NotificationMessage,
  payload: JsonValue | undefined,
  nowMs: number,
): { readonly request: WebhookRequest; readonly truncated: boolean } {
  const { provider, endpoint, secret } = route
  const type = provider.messageTypes[route.messageType]
  if (type === undefined) throw new WebhookInputError('webhook.message-type', 'be a type of the provider')
  const token = provider.secret.use === 'token' ? secret : undefined
  const own = { attributes: route.attributes, context: attributes, token, nowMs }
  const messageWith = (texts: Pick<WebhookMessage, 'subject' | 'content'>): WebhookMessage => ({
    ...{ id, locale, endpoint: new URL(endpoint) },
    ...own,
    ...texts,
  })
  const message = messageWith({ subject, content })
  const address = provider.address?.(message) ?? { url: message.endpoint, headers: {} }
  const { url, headers } = withToken(address, provider.secret, token)
  const members = membersOf(route, token)
  const build = (shortSubject: string, shortContent: string): object => ({
    ...type.body(messageWith({ subject: shortSubject, content: shortContent })),
    ...members,
  })
  const { body, truncated } =
    payload === undefined
      ? fitted(build, { subject, content }, type.limit, provider.subjectLimit)
      : { body: payload, truncated: false }
  const request = { url, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body }
  if (Buffer.byteLength(bodyText(request)) > largestRequest) {
    throw new WebhookInputError(
      payload === undefined ? 'content' : 'webhook.payload',
      `be at most ${largestRequest} bytes`,
    )
  }
  return { request, truncated }
}
