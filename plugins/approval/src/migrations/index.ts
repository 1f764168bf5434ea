import { createApproval } from './0001-create-approval.ts'

export const changeSets = [createApproval]
