import { measuredChart } from '@plinth/admin'

const metric = 'http_request_duration_seconds'

/** What the overview shows of requests. Codes are those of envelopes, or of HTTP where there is none. */
export const requestCharts = [
  measuredChart({
    id: 'http.requests',
    title: { en: 'Requests', 'zh-CN': '请求' },
    order: 10,
    metric,
    lines: [{ name: 'all', title: { en: 'Answered', 'zh-CN': '已响应' }, tone: 'info' }],
  }),
  measuredChart({
    id: 'http.failures',
    title: { en: 'Failures of the product', 'zh-CN': '服务端失败' },
    lead: { en: 'Requests that failed through no fault of the caller.', 'zh-CN': '非调用方原因导致失败的请求。' },
    order: 20,
    metric,
    lines: [
      {
        name: 'failed',
        title: { en: 'Failed', 'zh-CN': '失败' },
        tone: 'bad',
        where: { code: ['500', '502', '504'] },
      },
      {
        name: 'away',
        title: { en: 'Not possible just then', 'zh-CN': '暂不可用' },
        tone: 'warn',
        where: { code: ['503'] },
      },
    ],
  }),
]
