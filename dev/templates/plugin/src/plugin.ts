import { http, Type } from '@plinth/http'
import { definePlugin, key } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

/** `GET /api/v1/sample-name/greeting` returns a text that operators can change while the product runs. */
export default definePlugin({
  id: 'sample-name',
  version: '1.0.0',
  kernel: '^1.0.0',
  title: { en: 'Sample name', 'zh-CN': 'Sample name' },
  requires: { http },
  messages: { en, 'zh-CN': zhCN },
  config: {
    'platform.sample-name.greeting': key.string({
      title: { en: 'Greeting', 'zh-CN': '问候语' },
      default: 'Hello',
      reload: 'live',
    }),
  },
  setup({ config, services }) {
    services.http.route({
      method: 'GET',
      path: '/api/v1/sample-name/greeting',
      summary: 'Greeting of Sample name',
      access: 'public',
      response: Type.Object({ greeting: Type.String() }),
      handler: () => ({ greeting: config.get('platform.sample-name.greeting') }),
    })
  },
})
