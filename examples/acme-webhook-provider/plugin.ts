import { createResponseJudge, valueAtPath, webhookProviderPlugin } from '@plinth/notification-channels/webhook'

/** Provider for the ACME alert robot, which returns `accepted` or the reason of a rejection. */
export default webhookProviderPlugin(
  { id: 'acme.alerts', version: '1.0.0' },
  {
    code: 'acme-alerts',
    displayName: { en: 'ACME alerts', 'zh-CN': 'ACME 告警' },
    knownHosts: ['alerts.acme.example'],
    // The key is sent in a header, so that no URL contains it.
    secret: { use: 'token', into: { header: 'x-acme-key' } },
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
