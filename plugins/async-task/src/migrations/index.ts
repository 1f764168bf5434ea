import { createAsyncTask } from './0001-create-async-task.ts'

export const changeSets = [createAsyncTask]
