import type { ScheduledTask } from '@plinth/kernel'
import type { keys } from './config.ts'
import { storage } from './contract.ts'

/** Removes unfinished files of processes that died. */
export const removeUnfinishedFiles: ScheduledTask<{ provides: readonly [typeof storage]; config: typeof keys }> = {
  name: 'storage.sweep',
  displayName: { en: 'Remove half-written files of processes that died', 'zh-CN': '清理已终止进程遗留的未写完文件' },
  fixedDelay: 'platform.storage.sweep.fixed-delay',
  autoStartup: 'platform.storage.sweep.auto-startup',
  irreversible: true,
  run: ({ own, signal }) => own(storage).sweep(signal),
}
