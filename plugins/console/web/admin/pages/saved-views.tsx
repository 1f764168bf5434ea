import { Button, Checkbox, Menu, Select, TextInput } from '@mantine/core'
import { IconBookmark } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { lookups, removeView, shareView } from '../api/operations.ts'
import type { ListPage } from '../api/page-types.ts'
import { useWrite } from '../api/use-write.ts'
import { maxViewNameLength, maxViews } from '../shell/kept.ts'
import { useUserPreferences } from '../shell/kept-context.ts'
import { toasts } from '../shell/toasts.ts'
import dialog from './forms/dialog.module.css'
import { Dialog, DialogButtons } from './forms/dialog.tsx'
import { dropdown } from './forms/label-picker.tsx'
import { addressOfView, nameOfView, searchOfView } from './list-state.ts'

/** Address of a list with all rows, which is not replaced by the default view. */
const allRows = 'all'

/** Opens the default view of the user's roles if the address has no query. */
export function useDefaultView({ shared }: ListPage) {
  const [params] = useSearchParams()
  const [, go] = useLocation()
  const isOpened = useRef(false)
  useEffect(() => {
    const first = shared.views.find(({ isDefault }) => isDefault)
    if (!isOpened.current && params.size === 0 && first !== undefined) go(addressOfView(first), { replace: true })
    isOpened.current = true
  }, [shared, params, go])
}

/**
 * Saves filters, order and columns of a list under a name, in this browser or for all users with a role. The list shows
 * the views, and the palette those of this browser.
 */
export function SavedViews({ page }: { readonly page: ListPage }) {
  const { translate } = useLanguage()
  const api = useApi()
  const client = useQueryClient()
  const [params] = useSearchParams()
  const { kept, views } = useUserPreferences()
  const [isNaming, setNaming] = useState(false)
  const search = searchOfView(params)
  const own = views.filter((view) => view.page === page.id)
  const { views: shared, roles } = page.shared
  const current = own.find((view) => view.search === search)
  const currentShared = shared.find((view) => view.search === search)
  const shown = current ?? currentShared
  const reread = () => {
    for (const key of [['page', page.id], [lookups.path]]) void client.invalidateQueries({ queryKey: key })
  }
  const unshare = useWrite((signal, id: number) => api.call(removeView, { params: { id }, signal }), {
    onSuccess: reread,
    onError(error) {
      if (!(error instanceof CallFailure)) throw error
      toasts.show(error.message || translate('app.failure.unreachable'), { isFailure: true })
    },
  })
  return (
    <>
      <Menu position="bottom-end" withinPortal={false}>
        <Menu.Target>
          <Button
            variant="default"
            size="sm"
            title={translate('admin.views.title')}
            {...(shown === undefined
              ? { 'aria-label': translate('admin.views.title') }
              : { leftSection: <IconBookmark size={16} aria-hidden /> })}
          >
            {shown === undefined ? <IconBookmark size={16} aria-hidden /> : shown.name}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {shared.length > 0 && (
            <Menu.Item component={Link} href={addressOfView({ page: page.id, search: allRows })}>
              {translate('admin.views.all')}
            </Menu.Item>
          )}
          {[...own, ...shared].map((view) => (
            <Menu.Item
              key={nameOfView(view)}
              component={Link}
              href={addressOfView(view)}
              aria-current={view === shown ? 'true' : undefined}
            >
              {nameOfView(view)}
            </Menu.Item>
          ))}
          {own.length + shared.length > 0 && <Menu.Divider />}
          {current === undefined && (
            <Menu.Item disabled={search === ''} onClick={() => setNaming(true)}>
              {translate(search === '' ? 'admin.views.nothing' : 'admin.views.save')}
            </Menu.Item>
          )}
          {current !== undefined && (
            <Menu.Item onClick={() => kept.remove(current)}>
              {translate('admin.views.remove', { name: current.name })}
            </Menu.Item>
          )}
          {currentShared !== undefined && roles.length > 0 && (
            <Menu.Item onClick={() => unshare.mutate(currentShared.id)}>
              {translate('admin.views.unshare', { name: currentShared.name, role: currentShared.role })}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {isNaming && (
        <NameDialog
          page={page}
          search={search}
          names={own.map(({ name }) => name)}
          onSave={(name) => kept.save({ name, page: page.id, search })}
          onShared={reread}
          onClose={() => setNaming(false)}
        />
      )}
    </>
  )
}

interface NameDialogProps {
  readonly page: ListPage
  readonly search: string
  /** Names of the saved views of this list. */
  readonly names: readonly string[]
  /** Returns true if the view was saved. */
  onSave(name: string): boolean
  onShared(): void
  onClose(): void
}

function NameDialog({ page, search, names, onSave, onShared, onClose }: NameDialogProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const [typed, setTyped] = useState('')
  const [problem, setProblem] = useState<string>()
  const [roleId, setRoleId] = useState('')
  const [isDefault, setDefault] = useState(false)
  const name = typed.trim()
  const { roles } = page.shared
  const share = useWrite(
    (signal) =>
      api.call(shareView, { body: { page: page.id, roleId: Number(roleId), name, search, isDefault }, signal }),
    {
      onSuccess() {
        onShared()
        onClose()
      },
      onError(error) {
        if (!(error instanceof CallFailure)) throw error
        setProblem(error.message || translate('app.failure.unreachable'))
      },
    },
  )
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (roleId !== '') share.mutate(undefined)
    else if (onSave(name)) onClose()
    else setProblem(translate('admin.views.full', { count: maxViews }))
  }
  const hint = roleId !== '' ? 'admin.views.shared' : names.includes(name) ? 'admin.views.replaces' : 'admin.views.kept'
  return (
    <Dialog onClose={onClose} title={translate('admin.views.save')} size="md" centered>
      <form className={dialog.form} onSubmit={onSubmit}>
        <TextInput
          label={translate('admin.views.name')}
          description={translate(hint)}
          error={problem}
          data-autofocus
          maxLength={maxViewNameLength}
          autoComplete="off"
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value)
            setProblem(undefined)
          }}
        />
        {roles.length > 0 && (
          <Select
            {...dropdown}
            label={translate('admin.views.for')}
            data={[
              { value: '', label: translate('admin.views.me') },
              ...roles.map((role) => ({ value: String(role.id), label: role.name })),
            ]}
            value={roleId}
            allowDeselect={false}
            onChange={(id) => setRoleId(id ?? '')}
          />
        )}
        {roleId !== '' && (
          <Checkbox
            label={translate('admin.views.default')}
            checked={isDefault}
            onChange={(event) => setDefault(event.currentTarget.checked)}
          />
        )}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" disabled={name === ''} loading={share.isPending}>
            {translate('admin.save')}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}
