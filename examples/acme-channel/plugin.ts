import { definePlugin, key, notificationChannel } from '@plinth/kernel'

/** The URL itself contains the token, so no other key decides where the token is sent. */
const room = key.url({ title: 'Room address', required: true, sensitive: true, destination: [], reload: 'live' })

/** Plugin with a channel that posts each message to an ACME chat room. */
export default definePlugin({
  id: 'acme.chat',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [notificationChannel],
  config: { 'platform.acme.chat.room': room },
  setup({ config, contribute }) {
    const call = (signal: AbortSignal, request: { method: string; body?: string }) =>
      fetch(config.get('platform.acme.chat.room'), { ...request, signal, redirect: 'error' })
    contribute(notificationChannel, 'acme-chat', {
      displayName: { en: 'ACME chat', 'zh-CN': 'ACME 聊天' },
      recipientKinds: [],
      traits: { idempotent: true },
      async send({ subject, content }, { signal, idempotencyKey }) {
        try {
          const body = JSON.stringify({ title: subject, text: content, once: idempotencyKey })
          const { ok, status } = await call(signal, { method: 'POST', body })
          if (ok) return { outcome: 'accepted' }
          const outcome = status >= 500 || status === 429 ? 'deferred' : 'rejected'
          return { outcome, errorCode: `acme.${status}`, errorMessage: 'ACME refused the message' }
        } catch {
          return { outcome: 'unknown', errorCode: 'acme.no-answer', errorMessage: 'ACME did not answer' }
        }
      },
      async verify(signal) {
        const { ok, status } = await call(signal, { method: 'HEAD' }).catch(() => ({ ok: false, status: 'no answer' }))
        if (!ok) throw new Error(`ACME does not know the room: ${status}`)
      },
    })
  },
})
