import { ActionIcon } from '@mantine/core'
import type { IconPencil } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import page from '../../pages/declared-page.module.css'
import classes from './security.module.css'

interface PartProps {
  readonly title: string
  readonly lead: string
  readonly children: ReactNode
}

/** One section of the page. */
export const Part = ({ title, lead, children }: PartProps) => (
  <section className={page.section}>
    <h2>{title}</h2>
    <p className={classes.lead}>{lead}</p>
    <div className={classes.content}>{children}</div>
  </section>
)

interface IconButtonProps {
  readonly Icon: typeof IconPencil
  readonly title: string
  onClick(): void
}

/** Button of one item that opens a dialog. */
export const IconButton = ({ Icon, title, onClick }: IconButtonProps) => (
  <ActionIcon variant="subtle" color="gray" aria-label={title} title={title} aria-haspopup="dialog" onClick={onClick}>
    <Icon size={18} aria-hidden />
  </ActionIcon>
)
