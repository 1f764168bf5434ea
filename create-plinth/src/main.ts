/** `npm create plinth <folder>`: the command `plinth create product` for a machine without a product. */
import { runProcess } from '@plinth/kernel/program'

await runProcess(['create', 'product', ...process.argv.slice(2)])
