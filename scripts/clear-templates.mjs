/**
 * tap runs this script before all tests. It removes the migrated databases that tests share, because older sources may
 * have created them.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'

rmSync(join(import.meta.dirname, '../.tap/templates'), { recursive: true, force: true })
