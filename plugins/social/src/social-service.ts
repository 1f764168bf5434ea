import { bilingual, type ChannelCheck, ChannelError, type DeliveryOutcome, type NeededConfigKeys } from '@plinth/kernel'
import { isOutgoingHttpError, type OutgoingHttp } from '@plinth/outgoing-http'
import type { SocialAccount } from './config.ts'
import { type Social, type SocialMessage, type SocialMessageType, socialMessageTypes } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import type { OutboundLog } from './outbound-log.ts'
import { type AccessTokens, TokenRejected } from './wechat/access-tokens.ts'
import {
  hintOfErrcode,
  messageTypeCapabilities,
  outcomeOf,
  outcomeOfResponse,
  provider,
  readResponse,
  templateValues,
  tokenCodes,
} from './wechat/messages.ts'

interface SocialDependencies {
  readonly accounts: () => Readonly<Record<string, SocialAccount>>
  readonly tokens: AccessTokens
  readonly http: OutgoingHttp
  /** URL of the API, ending with a slash. */
  readonly endpoint: () => string
  readonly outbound: OutboundLog
  /** Masks secrets of the configuration and the given values. */
  readonly redact: (text: string, more: Iterable<unknown>) => string
}

const deadlineMs = 10_000
const maxTextLength = 2_048

/** Sends with WeChat. If WeChat rejects the access token, gets a new one and tries once more. */
export class SocialService implements Social {
  readonly #parts: SocialDependencies

  constructor(parts: SocialDependencies) {
    this.#parts = parts
  }

  get accounts(): readonly string[] {
    return Object.keys(this.#parts.accounts())
  }

  needs(): NeededConfigKeys {
    const keys = ['platform.social.accounts', 'platform.social.endpoint']
    return { keys, missingKeys: this.accounts.length === 0 ? keys.slice(0, 1) : [] }
  }

  async verify(signal: AbortSignal): Promise<readonly ChannelCheck[]> {
    const accounts = Object.entries(this.#parts.accounts())
    if (accounts.length === 0) throw new ChannelError('configuration', noAccount)
    for (const [code, account] of accounts) {
      signal.throwIfAborted()
      try {
        await this.#parts.tokens.of({ ...account, endpoint: this.#parts.endpoint() })
      } catch (error) {
        throw problemOf(code, error)
      }
    }
    return ['configuration', 'connection', 'credentials']
  }

  async send(message: SocialMessage, signal: AbortSignal): Promise<DeliveryOutcome> {
    const outcome = await this.#deliver(message, signal)
    await this.#parts.outbound.record(message, outcome)
    return outcome
  }

  async #deliver(message: SocialMessage, signal: AbortSignal): Promise<DeliveryOutcome> {
    const { accounts, endpoint, tokens, redact } = this.#parts
    const checked = checkedMessage(message, accounts())
    if ('refused' in checked) {
      const { name, refused } = checked
      return { outcome: 'rejected', errorCode: `social.${name}`, errorMessage: refused, provider }
    }
    // Reads endpoint and account at the same time, so that a secret is only sent to the endpoint for which it was
    // configured.
    const account = { ...checked.account, endpoint: endpoint() }
    const used: string[] = []
    const post = async (failed?: string) => {
      const token = await tokens.of(account, failed)
      used.push(token)
      return this.#post(checked, account.endpoint, token, signal)
    }
    const shown = ({ status, body }: { readonly status: number; readonly body: string }) => {
      const outcome = outcomeOf(status, body)
      const { providerMessage } = outcome
      return providerMessage === undefined ? outcome : { ...outcome, providerMessage: redact(providerMessage, used) }
    }
    try {
      const first = await post()
      if (!tokenCodes.has(readResponse(first.body)?.errcode ?? 0)) return shown(first)
      // Tries only once more. If the secret is wrong, or another program fetches tokens, it could otherwise repeat
      // forever.
      return shown(await post(used[0]))
    } catch (error) {
      return failureOf(error)
    }
  }

  #post({ path, body }: Checked, endpoint: string, token: string, signal: AbortSignal) {
    const { http } = this.#parts
    const url = new URL(path.slice(1), endpoint)
    url.searchParams.set('access_token', token)
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    return http.request({ method: 'POST', url, headers, body, deadlineMs, signal })
  }
}

interface Checked {
  readonly account: SocialAccount
  readonly path: string
  readonly body: string
}

const isMessageType = (type: string): type is SocialMessageType => socialMessageTypes.some((known) => known === type)

function checkedMessage(
  message: SocialMessage,
  accounts: Readonly<Record<string, SocialAccount>>,
): Checked | { readonly name: string; readonly refused: string } {
  const { accountCode, messageType, toUser, templateId, data, content } = message
  const account = Object.hasOwn(accounts, accountCode) ? accounts[accountCode] : undefined
  if (account === undefined) return { name: 'account-unknown', refused: 'social.account-code names no account' }
  if (!isMessageType(messageType)) {
    return {
      name: 'message-type-unknown',
      refused: `social.message-type must be one of ${socialMessageTypes.join(', ')}`,
    }
  }
  if (toUser === '')
    return { name: 'recipient-missing', refused: 'social.to-user or a recipient of the kind social-openid is needed' }
  const { path, needsTemplate, body } = messageTypeCapabilities[messageType]
  if (needsTemplate && (templateId === undefined || templateId === '')) {
    return { name: 'template-missing', refused: 'social.template-id or the template of the message is needed' }
  }
  if (!needsTemplate && (content === '' || Buffer.byteLength(content) > maxTextLength)) {
    return { name: 'content-refused', refused: `The content must have 1 to ${maxTextLength} bytes` }
  }
  const values = needsTemplate ? templateValues(data) : { values: {} }
  if ('refused' in values) {
    return {
      name: 'data-refused',
      refused: `The variable "${values.refused}" breaks the rule of its kind of template field`,
    }
  }
  return { account, path, body: JSON.stringify(body(message, values.values)) }
}

const noAccount = bilingual(
  'No account of WeChat is configured: fill in platform.social.accounts.',
  '尚未配置微信账号：请填写 platform.social.accounts。',
)

/** Returns the reason why an account has no token. */
function problemOf(code: string, error: unknown): ChannelError {
  const named = ({ en, 'zh-CN': zh }: { readonly en: string; readonly 'zh-CN': string }) =>
    bilingual(`The account "${code}": ${en}`, `账号“${code}”：${zh}`)
  if (!(error instanceof TokenRejected) || error.answer === undefined) {
    return new ChannelError('connection', named(unreachable), ['configuration'])
  }
  const { errcode, errmsg } = error.answer
  const hint = hintOfErrcode(errcode)
  const reason = { en: en.social.hints[hint], 'zh-CN': zhCN.social.hints[hint] }
  const check = hint === 'busy' ? 'connection' : 'credentials'
  const checked = hint === 'busy' ? (['configuration'] as const) : (['configuration', 'connection'] as const)
  return new ChannelError(check, named(reason), checked, `${errcode} ${errmsg}`)
}

const unreachable = {
  en: 'WeChat or the store that the instances share cannot be reached.',
  'zh-CN': '无法连接微信，或无法访问各实例共享的存储。',
}

function failureOf(error: unknown): DeliveryOutcome {
  if (error instanceof TokenRejected) {
    if (error.answer !== undefined) return outcomeOfResponse(error.answer)
    return {
      outcome: 'deferred',
      errorCode: 'social.token-missing',
      errorMessage: 'There is no access token',
      provider,
    }
  }
  if (isOutgoingHttpError(error) && error.mayHaveArrived) {
    return { outcome: 'unknown', errorCode: 'social.no-answer', errorMessage: 'WeChat did not answer', provider }
  }
  const errorMessage = 'WeChat, or what the instances share, cannot be reached'
  return { outcome: 'deferred', errorCode: 'social.unreachable', errorMessage, provider }
}
