import { key } from '@plinth/config-schema'

/** Keys of the kernel itself. */
export const kernelKeys = {
  'platform.kernel.setup-deadline': key.duration({
    title: { en: 'Set-up deadline', 'zh-CN': '插件启动期限' },
    description: {
      en: 'How long the set-up of one plugin may take before the start is given up.',
      'zh-CN': '单个插件启动所允许的最长时间，超时则放弃启动。',
    },
    default: '30s',
    minimum: '1ms',
    reload: 'live',
  }),
  'platform.kernel.drain-deadline': key.duration({
    title: { en: 'Drain deadline', 'zh-CN': '排空期限' },
    description: {
      en: 'How long running requests and tasks may take to finish after a stop was asked for.',
      'zh-CN': '收到停止请求后，进行中的请求和任务可用的最长时间。',
    },
    default: '10s',
    minimum: '1ms',
    reload: 'live',
  }),
  'platform.kernel.stop-deadline': key.duration({
    title: { en: 'Stop deadline', 'zh-CN': '停止期限' },
    description: {
      en: 'How long one plugin may take to release one resource.',
      'zh-CN': '单个插件释放一项资源所允许的最长时间。',
    },
    default: '5s',
    minimum: '1ms',
    reload: 'live',
  }),
  'platform.log.level': key.enum({
    title: { en: 'Log level', 'zh-CN': '日志级别' },
    values: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
    reload: 'live',
  }),
  'platform.log.format': key.enum({
    title: { en: 'Log format', 'zh-CN': '日志格式' },
    description: {
      en: 'json: one JSON object a line; pretty: for people; auto: pretty on a terminal, json elsewhere.',
      'zh-CN': 'json：每行一个 JSON 对象；pretty：便于阅读；auto：终端中用 pretty，其他情况用 json。',
    },
    values: ['auto', 'json', 'pretty'],
    default: 'auto',
    // The logger is made before the database can be asked.
    editable: false,
  }),
}
