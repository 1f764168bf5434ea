import { Button } from '@mantine/core'
import { useDeferredValue, useMemo, useState } from 'react'
import { useSearchParams } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import { Notice } from '../../../app/notice.tsx'
import { addTexts } from '../../../text/texts.ts'
import type { OwnPageView } from '../../api/page-types.ts'
import { useOperation } from '../../api/use-operation.ts'
import { useWhyNot } from '../../api/why-not.ts'
import { useDiscardQuestion } from '../../pages/forms/discard-question.tsx'
import list from '../../pages/list-view.module.css'
import { LoadState, NothingFound } from '../../pages/load-state.tsx'
import { PageHead } from '../../pages/page-head.tsx'
import draftBar from '../draft-bar.module.css'
import { SearchTools } from '../search-tools.tsx'
import { MatrixTable } from './matrix-table.tsx'
import { PermissionDialog } from './permission-dialog.tsx'
import { ReviewDialog } from './review-dialog.tsx'
import { countOf, draft, useDraft } from './role-draft.ts'
import classes from './role-matrix.module.css'
import { fits, operationIds, type Permission, type RolePage } from './roles.ts'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

addTexts({ en, 'zh-CN': zhCN })

/** Maximum number of visible columns, each for one role. */
const rolesShown = 20

/** Shows roles and their permissions. Changes of several roles are one draft and are saved role by role. */
export default function RoleMatrix({ page }: { readonly page: OwnPageView }) {
  const { translate } = useLanguage()
  const [columns, setColumns] = useState(1)
  const roles = useOperation<RolePage>(page.operations[operationIds.roles], {
    query: { page: columns, size: rolesShown },
  })
  const permissions = useOperation<readonly Permission[]>(page.operations[operationIds.permissions])
  // The table is deferred, so that the browser can handle input while its thousands of cells render.
  const isShown = useDeferredValue(roles.data !== undefined && permissions.data !== undefined)
  return (
    <>
      <PageHead title={page.title} lead={translate('roles.lead')} />
      <LoadState
        of={{ ...(roles.isSuccess ? permissions : roles), data: isShown || undefined }}
        lines={5}
        height={40}
      />
      {isShown && roles.data !== undefined && permissions.data !== undefined && (
        <Matrix
          page={page}
          roles={roles.data}
          permissions={permissions.data}
          columns={columns}
          onColumns={setColumns}
        />
      )}
    </>
  )
}

interface MatrixProps {
  readonly page: OwnPageView
  readonly roles: RolePage
  readonly permissions: readonly Permission[]
  readonly columns: number
  onColumns(page: number): void
}

function Matrix({ page, roles, permissions, columns, onColumns }: MatrixProps) {
  const { translate } = useLanguage()
  const whyNot = useWhyNot()
  const changes = useDraft()
  const [params, setParams] = useSearchParams()
  const search = params.get('q') ?? ''
  const expected = useDeferredValue(search)
  const [requested, setAsked] = useState<Permission>()
  const [isReviewing, setReviewing] = useState(false)
  const found = useMemo(() => permissions.filter((permission) => fits(permission, expected)), [permissions, expected])
  const save = page.operations[operationIds.save]
  const setSearch = (text: string) => setParams(text === '' ? {} : { q: text }, { replace: true })
  const total = roles.total ?? roles.items.length
  return (
    <div className={classes.page}>
      {save?.allowed === false && (
        <Notice tone="info" title={translate('roles.read-only')}>
          <p>{whyNot(save)}</p>
        </Notice>
      )}
      <SearchTools
        label={translate('roles.search')}
        hint={translate('roles.search-hint')}
        value={search}
        onChange={setSearch}
        found={translate('roles.found', { count: found.length, total: permissions.length, roles: total })}
      />
      {found.length === 0 ? (
        <NothingFound onClear={() => setSearch('')} />
      ) : (
        <MatrixTable
          roles={roles.items}
          permissions={found}
          changes={changes}
          maySave={save?.allowed === true}
          onAsk={setAsked}
        />
      )}
      {total > rolesShown && (
        <div className={list.pager}>
          <span className={list.total}>
            {translate('roles.columns', {
              first: (columns - 1) * rolesShown + 1,
              last: Math.min(columns * rolesShown, total),
              total,
            })}
          </span>
          <Button variant="default" size="sm" disabled={columns === 1} onClick={() => onColumns(columns - 1)}>
            {translate('admin.previous')}
          </Button>
          <Button
            variant="default"
            size="sm"
            disabled={columns * rolesShown >= total}
            onClick={() => onColumns(columns + 1)}
          >
            {translate('admin.next')}
          </Button>
        </div>
      )}
      {changes.size > 0 && <DraftBar count={countOf(changes)} onReview={() => setReviewing(true)} />}
      {isReviewing && (
        <ReviewDialog page={page} roles={roles.items} permissions={permissions} onClose={() => setReviewing(false)} />
      )}
      {requested !== undefined && (
        <PermissionDialog page={page} permission={requested} roles={roles.items} onClose={() => setAsked(undefined)} />
      )}
    </div>
  )
}

function DraftBar({ count, onReview }: { readonly count: number; onReview(): void }) {
  const { translate } = useLanguage()
  const question = useDiscardQuestion(translate('roles.discard-all', { count }), () => draft.clear())
  return (
    <section className={draftBar.bar} aria-label={translate('roles.draft')}>
      <span role="status">{translate('roles.changed', { count })}</span>
      <div className={draftBar.buttons}>
        <Button variant="default" size="sm" onClick={question.ask}>
          {translate('roles.discard')}
        </Button>
        <Button size="sm" onClick={onReview}>
          {translate('roles.review')}
        </Button>
      </div>
      {question.dialog}
    </section>
  )
}
