import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { definePlugin, key } from '@plinth/kernel'

const folders = ['incoming', 'published', 'rejected']
const layout = `${JSON.stringify({ version: 1, folders })}\n`
const directoryKey = 'platform.sample-name.directory'

/** Creates the folders of Sample name during the installation. */
export default definePlugin({
  id: 'sample-name',
  version: '1.0.0',
  kernel: '^1.0.0',
  config: {
    [directoryKey]: key.string({ title: 'Directory of Sample name', default: 'data/sample-name', minLength: 1 }),
  },
  installTasks: [
    {
      code: 'sample-name',
      displayName: { en: 'Prepare Sample name', 'zh-CN': '准备 Sample name' },
      order: 1000,
      required: false,
      retryable: true,
      async isCompleted({ config, root }) {
        const written = readFile(join(resolve(root, config.get(directoryKey)), 'layout.json'), 'utf8')
        return (await written.catch(() => '')) === layout
      },
      async run({ config, root, signal, note }) {
        const directory = resolve(root, config.get(directoryKey))
        for (const folder of folders) {
          signal.throwIfAborted()
          note(`Creating ${folder}`)
          await mkdir(join(directory, folder), { recursive: true })
        }
        // This file is written last and atomically. If it exists, all folders exist.
        signal.throwIfAborted()
        note('Writing layout.json')
        await writeFile(join(directory, 'layout.json.part'), layout)
        await rename(join(directory, 'layout.json.part'), join(directory, 'layout.json'))
      },
    },
  ],
})
