import { Button, Menu, Modal, TextInput } from '@mantine/core'
import { IconBookmark } from '@tabler/icons-react'
import { type FormEvent, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import type { ListPage } from '../api/page-types.ts'
import { maxViewNameLength, maxViews } from '../shell/kept.ts'
import { useUserPreferences } from '../shell/kept-context.ts'
import dialog from './forms/dialog.module.css'
import { addressOfView, searchOfView } from './list-state.ts'

/** Saves filters, order and columns of a list under a name. The list and the palette show the saved views. */
export function SavedViews({ page }: { readonly page: ListPage }) {
  const { translate } = useLanguage()
  const [params] = useSearchParams()
  const { kept, views } = useUserPreferences()
  const [isNaming, setNaming] = useState(false)
  const search = searchOfView(params)
  const own = views.filter((view) => view.page === page.id)
  const current = own.find((view) => view.search === search)
  return (
    <>
      <Menu position="bottom-end" withinPortal={false}>
        <Menu.Target>
          <Button
            variant="default"
            size="sm"
            title={translate('admin.views.title')}
            {...(current === undefined
              ? { 'aria-label': translate('admin.views.title') }
              : { leftSection: <IconBookmark size={16} aria-hidden /> })}
          >
            {current === undefined ? <IconBookmark size={16} aria-hidden /> : current.name}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {own.map((view) => (
            <Menu.Item
              key={view.name}
              component={Link}
              href={addressOfView(view)}
              aria-current={view === current ? 'true' : undefined}
            >
              {view.name}
            </Menu.Item>
          ))}
          {own.length > 0 && <Menu.Divider />}
          {current === undefined ? (
            <Menu.Item disabled={search === ''} onClick={() => setNaming(true)}>
              {translate(search === '' ? 'admin.views.nothing' : 'admin.views.save')}
            </Menu.Item>
          ) : (
            <Menu.Item onClick={() => kept.remove(current)}>
              {translate('admin.views.remove', { name: current.name })}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {isNaming && (
        <NameDialog
          names={own.map(({ name }) => name)}
          onSave={(name) => kept.save({ name, page: page.id, search })}
          onClose={() => setNaming(false)}
        />
      )}
    </>
  )
}

interface NameDialogProps {
  /** Names of the saved views of this list. */
  readonly names: readonly string[]
  /** Returns true if the view was saved. */
  onSave(name: string): boolean
  onClose(): void
}

function NameDialog({ names, onSave, onClose }: NameDialogProps) {
  const { translate } = useLanguage()
  const [typed, setTyped] = useState('')
  const [isRejected, setRejected] = useState(false)
  const name = typed.trim()
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (onSave(name)) onClose()
    else setRejected(true)
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={translate('admin.views.save')}
      closeButtonProps={{ 'aria-label': translate('admin.close') }}
      centered
    >
      <form className={dialog.form} onSubmit={onSubmit}>
        <TextInput
          label={translate('admin.views.name')}
          description={translate(names.includes(name) ? 'admin.views.replaces' : 'admin.views.kept')}
          error={isRejected ? translate('admin.views.full', { count: maxViews }) : undefined}
          data-autofocus
          maxLength={maxViewNameLength}
          autoComplete="off"
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value)
            setRejected(false)
          }}
        />
        <div className={dialog.buttons}>
          <Button variant="default" onClick={onClose}>
            {translate('admin.cancel')}
          </Button>
          <Button type="submit" disabled={name === ''}>
            {translate('admin.save')}
          </Button>
        </div>
      </form>
    </Modal>
  )
}
