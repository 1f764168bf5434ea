import { line, Type, text } from '@plinth/http'
import { localize, omitUndefined, ownProperty } from '@plinth/kernel'
import { readOnlyResource } from '@plinth/resource'
import type { ApprovalRule, ApprovalWorkflow } from './contract.ts'
import { viewApprovals } from './declarations.ts'
import { Approval } from './entities.ts'

/** Executed and rejected steps. */
export const approvalRecords = (workflows: ReadonlyMap<string, ApprovalWorkflow>) =>
  readOnlyResource(
    Approval.shape({
      only: [
        'id',
        'workflow',
        'action',
        'actionName',
        'sourceType',
        'sourceId',
        'sourceState',
        'permissions',
        'actorUserId',
        'actorName',
        'result',
        'reason',
        'createdAt',
      ],
      members: {
        actionName: Approval.computed(undefined, text, ({ workflow, action }, { locale }) =>
          nameOf(workflows.get(workflow)?.actions ?? {}, action, locale),
        ),
        permissions: Approval.computed(undefined, Type.Array(text), ({ permissionSnapshot }) => permissionSnapshot),
      },
    }),
    {
      area: 'approval',
      path: '/api/v1/admin/approvals',
      list: {
        access: viewApprovals,
        summary: 'List executed and rejected workflow steps, newest first',
        description: 'Returns steps whose actor is in the data scope of the caller.',
        range: 'createdAt',
        query: {
          workflow: Type.Optional(line(64)),
          sourceType: Type.Optional(line(64)),
          sourceId: Type.Optional(line(64, { description: 'Used only together with the type of source.' })),
        },
        where: ({ workflow, sourceType, sourceId }) =>
          omitUndefined({ workflow, sourceType, sourceId: sourceType === undefined ? undefined : sourceId }),
      },
    },
  )

/** Returns the name of an action. A rejected request may contain the code of no action, which has no name. */
function nameOf(actions: Readonly<Record<string, ApprovalRule>>, code: string, locale: string): string {
  const action = ownProperty(actions, code)
  return action === undefined ? code : localize(action.displayName, locale)
}
