import { createResponseJudge, valueAtPath, webhookProviderPlugin } from '@plinth/notification-channels/webhook'

/**
 * Sends messages to the service "Sample name". The service accepts a title and a text. It responds with `accepted`, or
 * with the reason why it rejected the message.
 */
export default webhookProviderPlugin(
  { id: 'sample-name', version: '1.0.0' },
  {
    code: 'sample-name',
    displayName: { en: 'Sample name', 'zh-CN': 'Sample name' },
    knownHosts: ['sample-name.example.com'],
    // The key is sent in a header, because URLs are often logged.
    secret: { use: 'token', into: { header: 'x-api-key' } },
    attributes: {
      severity: {
        title: { en: 'Severity', 'zh-CN': '级别' },
        values: ['info', 'warning', 'critical'],
        member: 'severity',
      },
    },
    messageTypes: {
      text: {
        body: ({ subject, content }) => ({ title: subject, text: content }),
        limit: { max: 5000, unit: 'characters', member: 'text' },
      },
    },
    rateLimits: [{ max: 10, windowMs: 1000 }],
    judge: createResponseJudge({
      delivered: ({ json }) => valueAtPath(json, 'state') === 'accepted',
      code: 'error.code',
      message: 'error.message',
      id: 'alert',
      codes: {
        'key-unknown': { hint: 'token-invalid' },
        'too-fast': { outcome: 'deferred', hint: 'rate-limited', retryAfterMs: 5000 },
      },
    }),
  },
)
