import { Type, text } from '@plinth/http'
import { c, table } from '@plinth/table'

/** An approved or rejected step. Never changed. */
export const Approval = table(
  'approval_instance',
  {
    id: c.id(),
    workflow: c.text(64),
    action: c.text(64),
    sourceType: c.text(64),
    sourceId: c.text(64),
    sourceState: c.text(32),
    permissionSnapshot: c.json(Type.Array(text)).internal(),
    /** Null if the actor is not a user; `actorName` is set then. */
    actorUserId: c.reference('iam.user').nullable(),
    actorName: c.text(64).nullable(),
    result: c.choice({ approved: ['Taken', '已执行'], refused: ['Refused', '被拒绝'] }),
    /** Reason of a rejection; null if approved. */
    reason: c.text(64).nullable(),
    traceId: c.text(128).nullable().internal(),
    createdAt: c.createdAt(),
  },
  {
    entity: 'ApprovalInstance',
    title: { one: ['Approval', '审批记录'], many: ['Approvals', '审批记录'] },
    owner: 'actorUserId',
    personalTitle: ['Approvals and rejections', '审批记录'],
    erasure: {
      kept: [
        'Evidence of who decided, until the retention time of approvals. The user id no longer identifies a person.',
        '审批决定的证据，保留至审批记录保留时间结束。用户编号不再指向任何人。',
      ],
    },
    indexes: [['workflow', 'id'], ['sourceType', 'sourceId', 'id'], ['sourceType', 'id'], ['createdAt']],
  },
)
