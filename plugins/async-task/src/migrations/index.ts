import { createAsyncTask } from './0001-create-async-task.ts'
import { addTurnTables } from './0002-take-turns.ts'
import { indexFilters } from './0003-index-filters.ts'
import { addColumnStatistics } from './0004-count-pairs.ts'

export const changeSets = [createAsyncTask, addTurnTables, indexFilters, addColumnStatistics]
