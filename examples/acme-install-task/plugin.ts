import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { definePlugin, key } from '@plinth/kernel'

const folders = ['incoming', 'published', 'rejected']
const layout = `${JSON.stringify({ version: 1, folders })}\n`
const directoryKey = 'platform.acme.uploads.directory'

/** Plugin with an install task that creates the upload folders of ACME. */
export default definePlugin({
  id: 'acme.uploads',
  version: '1.0.0',
  kernel: '^1.0.0',
  config: { [directoryKey]: key.string({ title: 'Upload directory', default: 'data/acme-uploads', minLength: 1 }) },
  installTasks: [
    {
      code: 'acme-uploads',
      displayName: { en: 'Prepare upload folders', 'zh-CN': '准备上传目录' },
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
        // The file `layout.json` is written last and atomically. If it exists, all folders exist.
        signal.throwIfAborted()
        note('Writing layout.json')
        await writeFile(join(directory, 'layout.json.part'), layout)
        await rename(join(directory, 'layout.json.part'), join(directory, 'layout.json'))
      },
    },
  ],
})
