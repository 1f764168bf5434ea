import { createIdNode } from './0001-create-id-node.ts'

export const changeSets = [createIdNode]
