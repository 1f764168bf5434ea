import { writeSync } from 'node:fs'
import { defineProduct, startProduct } from '@plinth/kernel'

const importedAt = performance.now()
await startProduct(defineProduct({ name: 'empty', plugins: [] }), { envFile: false })
writeSync(1, `ready ${performance.now() - importedAt}\n`)
