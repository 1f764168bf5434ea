import {
  createMemberCheck,
  createResponseJudge,
  valueAtPath,
  WebhookInputError,
  type WebhookMessage,
  type WebhookResponse,
  webhookProviderPlugin,
} from '@plinth/notification-channels/webhook'
import { commonMark } from './plain-texts.ts'

/** Results for each device of a batch. The response reports success even if all devices failed. */
const devices = ({ json }: WebhookResponse): readonly unknown[] => {
  const data = valueAtPath(json, 'data')
  return Array.isArray(data) ? data : []
}
const failed = (response: WebhookResponse) =>
  devices(response).find((device) => !createMemberCheck('code', 200)({ json: device }))

/**
 * Splits the secret: `<device key>`, or `<user>:<password>@<device key>` for a server with HTTP Basic authentication. A
 * device key contains no `@`.
 */
function secretOf(token = '') {
  const end = token.lastIndexOf('@')
  const login = end === -1 ? undefined : token.slice(0, end)
  const key = token.slice(end + 1)
  return { login, key: key === '' ? undefined : key }
}

const authorization = (login: string) => ({ authorization: `Basic ${Buffer.from(login).toString('base64')}` })

function receivers({ attributes, token, endpoint }: WebhookMessage) {
  const keys = attributes['device-key']
  const [first = secretOf(token).key, ...more] = Array.isArray(keys) ? keys : []
  if (more.length > 0) return { device_keys: keys }
  if (first === undefined && /\/push\/?$/.test(endpoint.pathname)) {
    throw new WebhookInputError('webhook.bark.device-key', 'be there, unless the address or the secret holds the key')
  }
  return { device_key: first }
}

/** Maximum size of the texts. APNs allows 4 KB, including the data around them. */
const limit = { max: 3800, unit: 'bytes' } as const
const title = ({ written: { subject } }: WebhookMessage) => (subject === '' ? {} : { title: subject })

/** Push service Bark. The secret is a device key, with optional credentials before it. */
export default webhookProviderPlugin(
  { id: 'webhook-providers.bark', version: '1.0.0' },
  {
    code: 'bark',
    displayName: { en: 'Bark', 'zh-CN': 'Bark' },
    endpoint: 'https://api.day.app/push',
    knownHosts: ['api.day.app'],
    secret: { use: 'token' },
    attributes: {
      'device-key': { title: { en: 'Device key', 'zh-CN': '设备密钥' }, type: 'list', sensitive: true },
      group: { title: { en: 'Group', 'zh-CN': '分组' }, member: 'group' },
      level: {
        title: { en: 'Interruption level', 'zh-CN': '提醒级别' },
        values: ['active', 'timeSensitive', 'passive', 'critical'],
        member: 'level',
      },
      sound: { title: { en: 'Sound', 'zh-CN': '铃声' }, member: 'sound' },
      url: { title: { en: 'Address to open', 'zh-CN': '点击打开的地址' }, member: 'url' },
      icon: { title: { en: 'Address of an icon', 'zh-CN': '图标地址' }, member: 'icon' },
    },
    messageTypes: {
      text: { body: (message) => ({ ...receivers(message), ...title(message), body: message.content }), limit },
      markdown: {
        body: (message) => ({ ...receivers(message), ...title(message), markdown: message.content }),
        plain: commonMark,
        limit,
      },
    },
    address: ({ endpoint, token }) => {
      if (endpoint.pathname === '/') endpoint.pathname = '/push'
      const { login } = secretOf(token)
      return { url: endpoint, headers: login === undefined ? {} : authorization(login) }
    },
    judge: createResponseJudge({
      delivered: (response) => createMemberCheck('code', 200)(response) && failed(response) === undefined,
      code: (response) => valueAtPath(failed(response) ?? response.json, 'code'),
      message: (response) => valueAtPath(failed(response) ?? response.json, 'message'),
      texts: {
        'device key is empty': { hint: 'token-invalid' },
        'failed to get device token': { hint: 'token-invalid' },
        'push failed': { outcome: 'deferred', hint: 'provider-busy' },
      },
    }),
  },
)
