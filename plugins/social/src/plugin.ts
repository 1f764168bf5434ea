import { backOffice } from '@plinth/admin'
import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import { database } from '@plinth/database'
import { http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import { outgoingHttp } from '@plinth/outgoing-http'
import { sharedStore } from '@plinth/shared-store'
import { configCentre, PluginEncryption, PluginEncryptionKey } from '@plinth/system-config'
import { pages } from './admin-pages.ts'
import { keys, tokenKeyName } from './config.ts'
import { social } from './contract.ts'
import { Outbound } from './entities.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { createOutbound } from './migrations/0001-create-outbound.ts'
import { OutboundLog } from './outbound-log.ts'
import { outboundMessages } from './outbound-messages.ts'
import { SocialService } from './social-service.ts'
import { AccessTokens } from './wechat/access-tokens.ts'

const requires = { database, http, outgoingHttp, sharedStore, configCentre }

const purge = createPurgeTask<{ requires: typeof requires; config: typeof keys }>('platform.social.outbound', {
  displayName: { en: 'Remove old entries of the WeChat message log', 'zh-CN': '清理旧的微信消息记录' },
  old({ config, clock }) {
    const retention = config.get('platform.social.outbound.retention')
    return retention === 0 ? [] : [rowsBefore('social_outbound', 'created_at', new Date(clock.now() - retention))]
  },
})

/** Plugin for messages of WeChat official accounts and mini programs. */
export default definePlugin({
  id: 'social',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires,
  provides: [social],
  contributes: backOffice({ pages }),
  config: keys,
  configGroups: { social: { en: 'WeChat', 'zh-CN': '微信' } },
  entities: [Outbound.entity],
  migrations: [createOutbound],
  permissions: outboundMessages.permissions,
  scheduledTasks: [purge],
  messages: { en, 'zh-CN': zhCN },
  setup({ plugin: { id: plugin }, services, config, log, redact, provide }) {
    const { database: db, http, outgoingHttp, sharedStore: store, configCentre: centre } = services
    const { clock } = db
    const stored = () => config.get(tokenKeyName)
    const box = new PluginEncryption(new PluginEncryptionKey({ plugin, name: tokenKeyName, centre, stored }))
    const endpoint = () => config.get('platform.social.endpoint').replace(/\/?$/, '/')
    const outbound = new OutboundLog({ db, clock, log, redact })
    const tokens = new AccessTokens({ http: outgoingHttp, store, box, clock, log })
    const accounts = () => config.get('platform.social.accounts')
    provide(social, new SocialService({ accounts, tokens, http: outgoingHttp, endpoint, outbound, redact }))
    http.addRoutes(outboundMessages.routes, { services })
  },
})
