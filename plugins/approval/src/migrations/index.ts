import { createApproval } from './0001-create-approval.ts'
import { indexSourceType } from './0002-index-source-type.ts'

export const changeSets = [createApproval, indexSourceType]
