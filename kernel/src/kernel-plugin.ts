import { createRequire } from 'node:module'
import { key, type LocalizedText } from '@plinth/config-schema'
import { configAdmin, declaredTasks, kernel, kernelExtensionPoints } from './contracts/kernel.ts'
import { definePlugin } from './plugin.ts'

const manifest: { readonly version: string; readonly engines: { readonly node: string } } = createRequire(
  import.meta.url,
)('../package.json')

/** Version of this kernel. Each plugin declares the range of versions that it supports. */
export const kernelVersion = manifest.version
/** Range of the Node.js versions that the kernel supports. */
export const nodeRange = manifest.engines.node

/** The minimum of one second keeps the product usable: with a shorter stored deadline, every start would fail. */
const deadline = (title: LocalizedText, description: LocalizedText, initial: string) =>
  key.duration({ title, description, default: initial, minimum: '1s', reload: 'live' })

/**
 * The declarations of the kernel in the form of a plugin, so that the planner checks them like those of plugins. This
 * plugin has no setup.
 */
export const kernelPlugin = definePlugin({
  id: 'kernel',
  version: kernelVersion,
  kernel: kernelVersion,
  provides: [kernel, configAdmin, declaredTasks],
  extensionPoints: kernelExtensionPoints,
  configGroups: { kernel: { en: 'Start and stop', 'zh-CN': '启动与停止' }, log: { en: 'Log', 'zh-CN': '日志' } },
  config: {
    'platform.kernel.setup-deadline': deadline(
      { en: 'Set-up deadline', 'zh-CN': '插件启动期限' },
      {
        en: 'Maximum time for the setup of one plugin. If it takes longer, the start is cancelled.',
        'zh-CN': '单个插件启动所允许的最长时间，超时则放弃启动。',
      },
      '30s',
    ),
    'platform.kernel.drain-deadline': deadline(
      { en: 'Drain deadline', 'zh-CN': '排空期限' },
      {
        en: 'Maximum time for running requests and tasks to finish after a stop was requested.',
        'zh-CN': '收到停止请求后，进行中的请求和任务可用的最长时间。',
      },
      '10s',
    ),
    'platform.kernel.stop-deadline': deadline(
      { en: 'Stop deadline', 'zh-CN': '停止期限' },
      {
        en: 'Maximum time for a plugin to release one resource.',
        'zh-CN': '单个插件释放一项资源所允许的最长时间。',
      },
      '5s',
    ),
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
      // The database cannot set this key, because the logger is created before the stored values are read.
      scope: 'process',
    }),
  },
})
