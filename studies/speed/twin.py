"""A straightforward twin of the selector: PyG ``HeteroConv(SAGEConv)``, explicit clique edges, Python edge lists.

It follows the official release's structure (distinct chunks encoded once a graph in WebQA, every occurrence in
browsing) and takes our weights, so that both sides must give the same scores.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Batch, HeteroData
from torch_geometric.nn import HeteroConv, SAGEConv
from torch_geometric.utils import scatter, softmax

from tracerank.answers.exact import normalize_answer
from tracerank.pools.pool import Pool
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import GraphRecipe, relations

Rows = dict[str, int]
"""Text to row of the vector table."""


def _edges(pairs: list[tuple[int, int]]) -> Tensor:
    return torch.tensor(pairs, dtype=torch.long).t().contiguous() if pairs else torch.empty((2, 0), dtype=torch.long)


def build_twin(pool: Pool, recipe: GraphRecipe, rows: Rows, table: Tensor) -> HeteroData:
    """One pool as HeteroData, edge by edge."""
    kept = pool.retained(recipe.retention, recipe.document_rules).kept
    edges: dict[tuple[str, str, str], list[tuple[int, int]]] = {tuple(r): [] for r in relations(recipe)}  # type: ignore[misc]
    search_rows: list[int] = []
    evidence_rows: list[int] = []
    evidence_rollout: list[int] = []
    by_content: dict[str, list[int]] = {}
    documents: dict[str, int] = {}
    search_context: list[tuple[int, int]] = []
    evidence_context: list[tuple[int, int]] = []
    for number, rollout in enumerate(kept):
        previous = None
        for search in rollout.searches:
            if not search.evidence and not recipe.keeps_bare_searches:
                continue
            node = len(search_rows)
            search_rows.append(rows[search.query or ""])
            search_context.append((node, number))
            if previous is not None:
                edges["search", "next", "search"].append((previous, node))
                if recipe.backward_time:
                    edges["search", "previous", "search"].append((node, previous))
            elif recipe.starts:
                edges["query", "starts", "search"].append((0, node))
            previous = node
            for evidence in search.evidence:
                slot = f"rank{evidence.rank}" if recipe.slot_by == "rank" else evidence.tool
                occurrence = len(evidence_rows)
                evidence_rows.append(rows[evidence.text])
                evidence_rollout.append(number)
                evidence_context.append((occurrence, number))
                by_content.setdefault(evidence.text, []).append(occurrence)
                edges["search", slot, "evidence"].append((node, occurrence))
                edges["evidence", f"{slot}_of", "search"].append((occurrence, node))
                if recipe.documents == "pool" and evidence.document is not None:
                    document = documents.setdefault(evidence.document.key, len(documents))
                    edges["evidence", "in_document", "document"].append((occurrence, document))
                    edges["document", "holds", "evidence"].append((document, occurrence))
    if recipe.content_links:
        for members in by_content.values():
            for place, left in enumerate(members):
                for right in members[place + 1 :]:
                    same = evidence_rollout[left] == evidence_rollout[right]
                    name = "same_content_within" if same else "same_content_cross"
                    edges["evidence", name, "evidence"] += [(left, right), (right, left)]
    data = HeteroData()
    data["query"].x = table[[rows[pool.question.text]]]
    data["search"].x = table[search_rows]
    if recipe.documents == "none":
        content_number = {text: number for number, text in enumerate(by_content)}
        data["content"].x = table[[rows[text] for text in by_content]]
        data["evidence"].content = torch.tensor(
            [content_number[text] for text, members in by_content.items() for _ in members]
        )[torch.tensor([m for members in by_content.values() for m in members]).argsort()]
        data["evidence"].num_nodes = len(evidence_rows)
        data["content", "indexes", "evidence"].edge_index = torch.stack(
            (data["evidence"].content, torch.arange(len(evidence_rows)))
        )
    else:
        data["evidence"].x = table[evidence_rows]
        data["document"].num_nodes = len(documents)
    data["answer"].x = table[[rows[rollout.answer or ""] for rollout in kept]]
    keys = [normalize_answer(rollout.answer) for rollout in kept]
    votes = torch.tensor([keys.count(key) for key in keys], dtype=torch.float32)
    data["answer"].votes = torch.stack((votes.log1p(), votes / len(kept)), dim=1)
    data["answer"].y = torch.tensor([rollout.label or 0.0 for rollout in kept])
    for relation, pairs in edges.items():
        data[relation].edge_index = _edges(pairs)
    data["search", "context", "answer"].edge_index = _edges(search_context)
    data["evidence", "context", "answer"].edge_index = _edges(evidence_context)
    return data


def collate_twin(graphs: list[HeteroData]) -> Batch:
    return Batch.from_data_list(graphs)


class Twin(nn.Module):
    """The same network in stock PyG modules."""

    def __init__(self, ours: TraceNet) -> None:
        super().__init__()
        self.recipe = ours.recipe
        hidden = ours.config.hidden
        self.dropout = ours.config.dropout
        self.heads = ours.config.heads
        for name in ("query", "search", "evidence", "answer"):
            encoder = getattr(ours, f"{name}_encoder")
            linear, norm = nn.Linear(ours.config.width, hidden), nn.LayerNorm(hidden)
            linear.load_state_dict(encoder.project.state_dict())
            norm.load_state_dict(encoder.norm.state_dict())
            setattr(self, name, nn.Sequential(linear, norm, nn.GELU()))
        self.votes = nn.Linear(2, hidden, bias=False)
        self.votes.load_state_dict(ours.votes.state_dict())
        self.document = nn.Parameter(ours.document.detach().clone()) if ours.document is not None else None
        self.convs = nn.ModuleList(self._conv(layer) for layer in ours.layers)
        self.norms = nn.ModuleList(self._norms(layer, hidden) for layer in ours.layers)
        read = ours.attention
        assert read is not None
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        for mine, theirs in ((self.q, read.query), (self.k, read.key), (self.v, read.value), (self.o, read.output)):
            mine.load_state_dict(theirs.state_dict())
        self.kind = nn.Parameter(read.type_embedding.detach().clone())
        self.norm_1, self.norm_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.norm_1.load_state_dict(read.attention_norm.state_dict())
        self.norm_2.load_state_dict(read.output_norm.state_dict())
        self.up, self.down = nn.Linear(hidden, ours.config.feed_forward), nn.Linear(ours.config.feed_forward, hidden)
        self.up.load_state_dict(read.expand.state_dict())
        self.down.load_state_dict(read.contract.state_dict())
        self.rho_q, self.rho_a = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.rho_q.load_state_dict(ours.query_readout.state_dict())
        self.rho_a.load_state_dict(ours.answer_readout.state_dict())
        self.log_scale = nn.Parameter(ours.log_scale.detach().clone())

    def _conv(self, layer: nn.Module) -> HeteroConv:
        convs = {}
        for relation in relations(self.recipe):
            weight, bias = layer.parameters_of(relation)
            conv = SAGEConv((len(bias), len(bias)), len(bias), root_weight=False)
            conv.lin_l.load_state_dict({"weight": weight.detach().t(), "bias": bias.detach()})
            convs[tuple(relation)] = conv
        return HeteroConv(convs, aggr="sum")

    def _norms(self, layer: nn.Module, hidden: int) -> nn.ModuleDict:
        norms = {"search": layer.search_norm, "evidence": layer.evidence_norm}
        if layer.document_norm is not None:
            norms["document"] = layer.document_norm
        copied = nn.ModuleDict({name: nn.LayerNorm(hidden) for name in norms})
        for name, norm in norms.items():
            copied[name].load_state_dict(norm.state_dict())
        return copied

    def forward(self, data: Batch) -> Tensor:
        x = {name: getattr(self, name)(data[name].x.float()) for name in ("query", "search", "answer")}
        if self.recipe.documents == "none":
            chunks = self.evidence(data["content"].x.float())
            content, occurrence = data["content", "indexes", "evidence"].edge_index
            x["evidence"] = scatter(chunks[content], occurrence, dim=0, dim_size=data["evidence"].num_nodes)
        else:
            x["evidence"] = self.evidence(data["evidence"].x.float())
            x["document"] = self.document.expand(data["document"].num_nodes, -1)
        x["answer"] = x["answer"] + self.votes(data["answer"].votes)
        messages = {r: e for r, e in data.edge_index_dict.items() if r[1] not in ("context", "indexes")}
        for conv, norms in zip(self.convs, self.norms, strict=True):
            updates = conv(x, messages)
            x = {
                **x,
                **{
                    name: norm(
                        x[name] + functional.dropout(functional.gelu(updates[name]), self.dropout, self.training)
                    )
                    for name, norm in norms.items()
                },
            }
        answers = self._read(x, data)
        asked = functional.normalize(self.rho_q(x["query"]), dim=-1)[data["answer"].batch]
        given = functional.normalize(self.rho_a(answers), dim=-1)
        return self.log_scale.exp().clamp(max=100.0) * (asked * given).sum(-1)

    def _read(self, x: dict[str, Tensor], data: Batch) -> Tensor:
        answers = x["answer"]
        states = torch.cat((x["search"] + self.kind[0], x["evidence"] + self.kind[1]))
        s, e = data["search", "context", "answer"].edge_index, data["evidence", "context", "answer"].edge_index
        source = torch.cat((s[0], e[0] + len(x["search"])))
        target = torch.cat((s[1], e[1]))
        query, key, value = (
            layer(rows).view(-1, self.heads, 64)
            for layer, rows in ((self.q, answers), (self.k, states), (self.v, states))
        )
        weights = softmax((query[target] * key[source]).sum(-1) / 8.0, target, num_nodes=len(answers))
        read = scatter(weights.unsqueeze(-1) * value[source], target, dim=0, dim_size=len(answers)).flatten(1)
        drop = self.dropout
        answers = self.norm_1(answers + functional.dropout(self.o(read), drop, self.training))
        fed = self.down(functional.dropout(functional.gelu(self.up(answers)), drop, self.training))
        return self.norm_2(answers + functional.dropout(fed, drop, self.training))
