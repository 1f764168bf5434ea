import { definePlugin, type KeyDeclaration, key, type Plugin } from '@plinth/kernel'
import { inBothLocales } from '@plinth/kernel/host'
import { type WebhookProvider, type WebhookProviderSettings, webhookProvider } from './contract.ts'

type Setting = KeyDeclaration<string | undefined> | KeyDeclaration<boolean | undefined>
type Settings = {
  readonly [Name in keyof typeof settingNames]: WebhookProviderSettings[Name]
}
const settingNames = {
  endpoint: 'endpoint',
  secret: 'secret',
  messageType: 'message-type',
  enabled: 'enabled',
} as const

const prefixOf = (name: string) => `platform.notification.channels.webhook.providers.${name}`

/** Declares the configuration keys of a provider. They can be changed while the product runs. */
function keysOf({ code, displayName, secret, messageTypes }: WebhookProvider, name: string): Record<string, Setting> {
  const { en, 'zh-CN': zhCN } = inBothLocales(displayName)
  const title = (english: string, chinese: string) => ({
    title: { en: `${en} (${name}): ${english}`, 'zh-CN': `${zhCN}（${name}）：${chinese}` },
    reload: 'live' as const,
  })
  const isSignature = secret.use === 'signature'
  const prefix = prefixOf(name)
  return {
    // The URL is a secret, because it may contain the token.
    [`${prefix}.endpoint`]: key.url({ ...title('address', '地址'), sensitive: true, destination: [] }),
    [`${prefix}.secret`]: key.string({
      ...(isSignature ? title('signing secret', '签名密钥') : title('token', '令牌')),
      ...(secret.pattern === undefined ? {} : { pattern: secret.pattern }),
      ...(secret.rule === undefined ? {} : { rule: secret.rule }),
      sensitive: true,
      // The secret belongs to two endpoints, because an alias without an endpoint uses the endpoint of the code.
      destination: [...new Set([name, code])].map((one) => `${prefixOf(one)}.endpoint`),
    }),
    [`${prefix}.message-type`]: key.enum({
      ...title('message type', '消息类型'),
      values: Object.keys(messageTypes),
    }),
    [`${prefix}.enabled`]: key.boolean({
      ...title('enabled', '启用'),
      description: { en: 'Empty means enabled.', 'zh-CN': '留空视为启用。' },
    }),
  }
}

/**
 * Returns the plugin of one provider. It declares the keys
 * `platform.notification.channels.webhook.providers.<code>.{endpoint, secret, message-type, enabled}` for the code and
 * its aliases, and contributes the provider to the channel `webhook`.
 *
 * @example
 * export default webhookProviderPlugin({ id: 'acme.webhook', version: '1.0.0' }, {
 * code: 'acme', displayName: 'ACME', knownHosts: ['hooks.acme.example'], secret: { use: 'token', into: 'path' },
 * messageTypes: { text: { body: ({ subject, content }) => ({ title: subject, text: content }) } },
 * judge: createResponseJudge({ delivered: ({ json }) => valueAtPath(json, 'ok') === true, message: 'error' }),
 * })
 */
export function webhookProviderPlugin(
  { id, version }: { readonly id: string; readonly version: string },
  provider: WebhookProvider,
): Plugin {
  const names = [provider.code, ...(provider.aliases ?? [])]
  return definePlugin({
    id,
    version,
    kernel: '^1.0.0',
    contributes: [webhookProvider],
    config: Object.fromEntries(names.flatMap((name) => Object.entries(keysOf(provider, name)))),
    setup({ config, contribute }) {
      const own = (name: string): Settings => {
        const read = (setting: string) => config.get(`${prefixOf(name)}.${setting}`)
        const text = (setting: string) => {
          const value = read(setting)
          return typeof value === 'string' && value !== '' ? value : undefined
        }
        const enabled = read(settingNames.enabled)
        return {
          endpoint: text(settingNames.endpoint),
          secret: text(settingNames.secret),
          messageType: text(settingNames.messageType),
          enabled: typeof enabled === 'boolean' ? enabled : undefined,
        }
      }
      const settingsOf = (name: string): WebhookProviderSettings => {
        const [settings, general] = [own(name), own(provider.code)]
        // If the alias has its own endpoint, the secret of the code is not used, because it belongs to another bot.
        const bot = settings.endpoint === undefined ? general : settings
        return {
          endpoint: bot.endpoint,
          secret: settings.secret ?? bot.secret,
          messageType: settings.messageType ?? general.messageType,
          enabled: settings.enabled ?? general.enabled,
        }
      }
      const byName = new Map(names.map((name) => [name, config.derived(() => settingsOf(name))]))
      contribute(webhookProvider, provider.code, {
        provider,
        settings: (name) => byName.get(name)?.() ?? settingsOf(name),
      })
    },
  })
}
