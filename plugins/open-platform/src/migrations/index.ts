import { createOpenPlatform } from './0001-create-open-platform.ts'
import { nameLastEditor } from './0002-name-last-editor.ts'
import { countDays } from './0003-count-days.ts'
import { indexUsage } from './0004-index-usage.ts'

export const changeSets = [createOpenPlatform, nameLastEditor, countDays, indexUsage]
