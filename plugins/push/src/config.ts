import { purgeKeys } from '@plinth/coordination'
import { type ConfigView, guardsPermission, key } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'

export const secretKeyName = 'platform.push.secret-key'
export const serviceAccountKey = 'platform.push.fcm.service-account'
export const enabledKeys = {
  'web-push': 'platform.notification.channels.web-push.enabled',
  fcm: 'platform.notification.channels.fcm.enabled',
} as const

/** Members of the file that the Firebase console creates for a service account. Other members are ignored. */
export interface ServiceAccount {
  readonly project_id: string
  readonly client_email: string
  /** PKCS #8 in PEM. */
  readonly private_key: string
  /** Address that issues access tokens. */
  readonly token_uri: string
}

const word = { type: 'string', minLength: 1, maxLength: 200 }

export const keys = {
  [enabledKeys['web-push']]: key.boolean({
    title: { en: 'Channel "web-push"', 'zh-CN': '渠道 web-push' },
    description: {
      en: 'Sends push messages to browsers. The channel is only enabled if platform.site.url is an https URL.',
      'zh-CN': '向浏览器推送消息；仅当 platform.site.url 为 https 地址时才启用。',
    },
    default: true,
    reload: 'live',
  }),
  [enabledKeys.fcm]: key.boolean({
    title: { en: 'Channel "fcm"', 'zh-CN': '渠道 fcm' },
    description: {
      en: 'Sends push messages to apps. The channel is only enabled with a service account.',
      'zh-CN': '向应用推送消息；仅在配置服务账号后才启用。',
    },
    default: true,
    reload: 'live',
  }),
  'platform.push.web-push.hosts': key.stringList({
    title: { en: 'Allowed push services', 'zh-CN': '允许的推送服务' },
    description: {
      en: 'Hosts of the push services of browsers, or *.name for all hosts below a name. Add the port if it is not 443. Browsers choose the address, so devices of other hosts are rejected.',
      'zh-CN':
        '浏览器推送服务的主机，或用 *.名称 表示其下所有主机；端口不是 443 时须写明。地址由浏览器决定，因此拒绝其他主机的设备。',
    },
    default: ['fcm.googleapis.com', 'updates.push.services.mozilla.com', 'web.push.apple.com', '*.notify.windows.com'],
    items: { pattern: '^(?:\\*\\.)?[a-z0-9.-]{1,253}(?::[1-9][0-9]{0,4})?$' },
    rule: {
      en: 'be a lower-case host name or *.name, with a port or without',
      'zh-CN': '是小写主机名或 *.名称，可带端口',
    },
    maxItems: 50,
    reload: 'live',
    permission: guardsPermission,
  }),
  [serviceAccountKey]: key.object<ServiceAccount>({
    title: { en: 'Service account of Firebase', 'zh-CN': 'Firebase 服务账号' },
    description: {
      en: 'Content of the JSON file that the Firebase console creates under "Service accounts". Without it, the channel fcm is off.',
      'zh-CN': 'Firebase 控制台“服务账号”中生成的 JSON 文件内容。未配置时，渠道 fcm 停用。',
    },
    schema: {
      type: 'object',
      properties: {
        project_id: word,
        client_email: word,
        private_key: { type: 'string', minLength: 1, maxLength: 4000 },
        token_uri: word,
      },
      required: ['project_id', 'client_email', 'private_key', 'token_uri'],
    },
    multiline: true,
    sensitive: true,
    destination: ['platform.push.fcm.endpoint'],
    reload: 'live',
  }),
  'platform.push.fcm.endpoint': key.url({
    title: { en: 'Address of the FCM API', 'zh-CN': 'FCM 接口地址' },
    default: 'https://fcm.googleapis.com/',
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.push.max-devices': key.integer({
    title: { en: 'Maximum number of push devices per user', 'zh-CN': '每个用户的推送设备数上限' },
    description: {
      en: 'A new device replaces the one whose registration is the oldest.',
      'zh-CN': '超出后，新设备替换最久未注册的设备。',
    },
    default: 10,
    minimum: 1,
    maximum: 50,
    reload: 'live',
  }),
  'platform.push.device-expiry': key.duration({
    title: { en: 'Expiry of push devices', 'zh-CN': '推送设备过期时间' },
    description: {
      en: 'Pages and apps register their device again at each start. A device that was not registered for this time gets no more messages. Ended devices are removed after this time.',
      'zh-CN': '页面和应用每次启动时都会重新注册设备；超过此时间未注册的设备不再接收消息。已结束的设备在此时间后清除。',
    },
    default: '60d',
    minimum: '1d',
    reload: 'live',
  }),
  [secretKeyName]: declarePluginKey({
    title: { en: 'Secret key of push devices', 'zh-CN': '推送设备的密钥' },
    description: {
      en: 'Encrypts the addresses of devices, and determines the key pair of Web Push. Created automatically with the first device and stored encrypted. A new key makes all devices invalid. Do not set it manually.',
      'zh-CN':
        '用于加密设备地址，并确定 Web Push 的密钥对。首次使用时自动生成并加密存储；更换后所有设备失效，无需人工设置。',
    },
  }),
  ...purgeKeys('platform.push', {
    en: 'Interval for ending devices that were not registered again, and for removing ended devices.',
    'zh-CN': '结束未重新注册的设备、清除已结束设备的间隔。',
  }),
}

export type PushConfig = ConfigView<typeof keys>
