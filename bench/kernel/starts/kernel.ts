import { writeSync } from 'node:fs'
import { defineProduct } from '@plinth/kernel'
import { startProduct } from '@plinth/kernel/host'

const importedAt = performance.now()
await startProduct(defineProduct({ name: 'empty', plugins: [] }), { envFile: false })
writeSync(1, `ready ${performance.now() - importedAt}\n`)
