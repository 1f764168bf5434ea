import { definePlugin, key, notificationChannel } from '@plinth/kernel'

/** Sends each message to the service Sample name. */
export default definePlugin({
  id: 'sample-name',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [notificationChannel],
  config: {
    'platform.sample-name.url': key.url({
      title: { en: 'Address of Sample name', 'zh-CN': 'Sample name 的地址' },
      default: 'https://sample-name.example.com/messages',
      reload: 'live',
    }),
    'platform.sample-name.token': key.string({
      title: { en: 'Token of Sample name', 'zh-CN': 'Sample name 的令牌' },
      default: '',
      sensitive: true,
      destination: ['platform.sample-name.url'],
      reload: 'live',
    }),
  },
  setup({ config, contribute }) {
    const call = (signal: AbortSignal, method: 'POST' | 'HEAD', body: string | null = null) => {
      const url = config.get('platform.sample-name.url')
      const headers = { authorization: `Bearer ${config.get('platform.sample-name.token')}` }
      return fetch(url, { method, headers, body, signal, redirect: 'error' })
    }
    contribute(notificationChannel, 'sample-name', {
      displayName: { en: 'Sample name', 'zh-CN': 'Sample name' },
      recipientKinds: [],
      // True, because the service delivers only one message for each value of `once`. If your service does not, write
      // false.
      traits: { idempotent: true },
      async send({ subject, content }, { signal, idempotencyKey }) {
        try {
          const body = JSON.stringify({ title: subject, text: content, once: idempotencyKey })
          const { ok, status } = await call(signal, 'POST', body)
          if (ok) return { outcome: 'accepted' }
          const outcome = status >= 500 || status === 429 ? 'deferred' : 'rejected'
          return { outcome, errorCode: `sample-name.${status}`, errorMessage: 'The service rejected the message.' }
        } catch {
          return {
            outcome: 'unknown',
            errorCode: 'sample-name.no-response',
            errorMessage: 'The service did not respond.',
          }
        }
      },
      async verify(signal) {
        const { ok, status } = await call(signal, 'HEAD').catch(() => ({ ok: false, status: 'no response' }))
        if (!ok) throw new Error(`The service rejected the check: ${status}`)
      },
    })
  },
})
