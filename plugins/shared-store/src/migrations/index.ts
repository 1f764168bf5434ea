import { createEntries } from './0001-create-entries.ts'

export const changeSets = [createEntries]
