/** Run by tap before all tests: migrated databases that the tests of a run share may come from older sources. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'

rmSync(join(import.meta.dirname, '../.tap/templates'), { recursive: true, force: true })
