/** Program of `npm create plinth <folder>`. It runs `plinth create product` on a machine that has no product yet. */
import { runProcess } from '@plinth/kernel/program'

await runProcess(['create', 'product', ...process.argv.slice(2)])
