import type { ScheduledTask } from '@plinth/kernel'
import type { keys } from './config.ts'
import { storage } from './contract.ts'
import { uploads } from './upload-contract.ts'

type Provided = readonly [typeof storage, typeof uploads]

/** Removes unfinished files of processes that died, and uploads that no form has used. */
export const removeUnfinishedFiles: ScheduledTask<{ provides: Provided; config: typeof keys }> = {
  name: 'storage.sweep',
  displayName: {
    en: 'Remove half-written files of processes that died, and unused uploads',
    'zh-CN': '清理已终止进程遗留的未写完文件和未使用的上传文件',
  },
  fixedDelay: 'platform.storage.sweep.fixed-delay',
  autoStartup: 'platform.storage.sweep.auto-startup',
  irreversible: true,
  async run({ own, signal }) {
    await own(storage).sweep(signal)
    await own(uploads).sweep(signal)
  },
}
