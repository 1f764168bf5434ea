import { writeSync } from 'node:fs'

writeSync(1, 'ready\n')
